"""Weights & Biases: offline files in wandb/ of the run folder, unless WANDB_MODE is set.

`wandb sync` uploads offline files. WANDB_MODE=online uploads while the run trains. WANDB_PROJECT
and WANDB_ENTITY choose the project, as in every program that uses wandb.
"""

from __future__ import annotations

import os
from hashlib import sha256
from typing import Any

from attncli.training.loggers import LoggedRun, numbers

PROJECT = "attn"


class WandbLogger:
    """A run of Weights & Biases."""

    def __init__(self, run: LoggedRun) -> None:
        """Start the run, or continue it: its id is derived from the run folder."""
        import wandb

        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.folder.name,
            id=sha256(str(run.folder.resolve()).encode()).hexdigest()[:16],
            resume="allow",
            dir=str(run.folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            config=run.settings,
            settings=wandb.Settings(silent=True, console="off"),
        )

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Write the numbers of a record that belongs to an update."""
        if found := numbers(event, record):
            self.run.log(found, step=record["step"])

    def close(self) -> None:
        """Finish the run."""
        self.run.finish()
