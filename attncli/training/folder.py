"""A run folder: what lies where, and whether it belongs to this run.

config.toml              the whole configuration; `attn train config.toml` repeats the run
config.json, model.safetensors, tokenizer.model, card.md     the bundle: the best model so far
log.jsonl, curves.png    what happened
data/                    the tokenised corpus
checkpoint.safetensors   where a killed run goes on
snapshots/               weights of the last evaluations, to be averaged
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from attncli.training.config import RunConfig, differences, from_toml, to_toml
from models.config import from_dict
from models.errors import ModelError
from models.files import refused, write_text


class RunFolder(NamedTuple):
    """The paths of a run."""

    path: Path

    @property
    def config(self) -> Path:
        """The whole configuration."""
        return self.path / "config.toml"

    @property
    def data(self) -> Path:
        """The tokenised corpus, its tokenizer and what it was made from."""
        return self.path / "data"

    @property
    def checkpoint(self) -> Path:
        """The state from which a killed run goes on."""
        return self.path / "checkpoint.safetensors"

    @property
    def log(self) -> Path:
        """One JSON record a line."""
        return self.path / "log.jsonl"

    @property
    def curves(self) -> Path:
        """Loss and dev score as a picture."""
        return self.path / "curves.png"

    def snapshot(self, step: int) -> Path:
        """The weights of one evaluation."""
        return self.path / "snapshots" / f"{step}.safetensors"


def claim(folder: RunFolder, config: RunConfig, fingerprint: dict[str, str]) -> bool:
    """Make the folder this run's; whether it is an earlier one that goes on.

    A folder of another configuration or other data is a ModelError that says what differs.
    """
    if not folder.config.exists():
        if folder.path.exists() and any(folder.path.iterdir()):
            raise ModelError(
                f"{folder.path} is not empty and holds no run", "a new folder", "choose another -o"
            )
        with refused(folder.path):
            folder.path.mkdir(parents=True, exist_ok=True)
        write_text(folder.path / "inputs.json", json.dumps(fingerprint, indent=2) + "\n")
        write_text(folder.config, to_toml(config))
        return False
    stored = read_config(folder)
    found = differences(config, stored)
    found += _changed_inputs(folder, fingerprint)
    if found:
        shown = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        raise ModelError(
            f"{folder.path} holds another run: {shown}",
            "the same data and configuration",
            "choose another -o, or remove that folder",
        )
    return True


def read_config(folder: RunFolder) -> RunConfig:
    """The configuration that a run was started with."""
    name = str(folder.config)
    try:
        return from_dict(RunConfig, from_toml(folder.config.read_text("utf-8"), name))
    except OSError as error:
        raise ModelError(f"cannot read {name} ({error.strerror})", "a run's folder") from None


def _changed_inputs(folder: RunFolder, fingerprint: dict[str, str]) -> list[str]:
    try:
        stored = json.loads((folder.path / "inputs.json").read_text("utf-8"))
    except (OSError, ValueError):
        return ["inputs.json is missing or damaged"]
    return [
        f"the {part} data is not the same"
        for part in fingerprint
        if stored.get(part) != fingerprint[part]
    ]
