"""The log of a run for TensorBoard, if train.tensorboard is true."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.errors import ModelError

SHOWN = ("loss", "nll", "lr", "norm", "tokens_per_second", "bleu")


def check_installed() -> None:
    """Raise ModelError if TensorBoard is not installed; nothing is imported."""
    if find_spec("tensorboard") is None:
        raise ModelError(
            "train.tensorboard is true and TensorBoard is not installed",
            "the package tensorboard",
            "pip install 'attn[tensorboard]', or set train.tensorboard=false",
        )


class TensorBoardLog:
    """Event files of TensorBoard in a folder."""

    def __init__(self, folder: Path, step: int) -> None:
        """Continue after update `step`; later records of an interrupted run are hidden."""
        check_installed()
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(folder), purge_step=step + 1)

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Write the numbers of a record that belongs to an update."""
        for name in SHOWN:
            if "step" in record and record.get(name) is not None:
                self.writer.add_scalar(f"{event}/{name}", record[name], record["step"])

    def flush(self) -> None:
        """Flush the event files."""
        self.writer.flush()
