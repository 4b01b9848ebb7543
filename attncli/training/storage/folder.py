"""A run folder: its files, its configuration and its lock.

config.toml              the whole configuration; `attn train config.toml` repeats the run
inputs.json              fingerprints of the data files
train.tsv dev.tsv test.tsv   sentences of the embedded grammar, if no data were given, and
train.links and so on        their gold word links in Pharaoh format
dev.tsv                  pairs held out of the training data, if no dev set was named
data/                    the tokenised corpus, complete or absent
config.json, model.safetensors, tokenizer.model, card.md     the bundle: the best model so far
log.jsonl, curves.png    losses and scores
tensorboard/ wandb/ mlflow.db    the same for experiment trackers (train.loggers)
checkpoint.safetensors   state from which an interrupted run continues
samples/                 outputs for some dev examples at each evaluation, and their page
snapshots/               weights of the last evaluations, to be averaged
finished.json            in place of checkpoint, snapshots and data/ after `attn runs prune`
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from attncli.training.settings.config import RunConfig, TrainConfig, read_run_config
from attncli.training.settings.toml import read_toml, to_toml
from models.base.errors import ModelError, naming
from models.base.files import open_append, try_lock, write_errors, write_text

LOCK = ".lock"


class RunFolder:
    """The paths of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.toml"  # the whole configuration
        self.inputs = path / "inputs.json"  # hashes of the data files at the start of the run
        self.data = path / "data"  # the tokenised corpus and its tokenizer
        self.checkpoint = path / "checkpoint.safetensors"  # from which an interrupted run continues
        self.finished = path / "finished.json"  # progress of a run that `attn runs prune` reduced
        self.log = path / "log.jsonl"  # one JSON record per line
        self.samples = path / "samples"  # outputs for some dev examples, and their page
        self.snapshots = path / "snapshots"  # weights of the last evaluations, one file each

    @property
    def has_begun(self) -> bool:
        """Return True if the data of a run are prepared, or it has ended."""
        return self.config.exists() and (self.data.exists() or self.finished.exists())

    @property
    def is_pruned(self) -> bool:
        """Return True if `attn runs prune` removed the checkpoint of a finished run."""
        return self.finished.exists() and not self.checkpoint.exists()

    def snapshot(self, step: int) -> Path:
        """Return the path of the weights of one evaluation."""
        return self.snapshots / f"{step}.safetensors"


def read_config(folder: RunFolder) -> RunConfig:
    """Return the configuration that a run was started with."""
    with naming(folder.config):
        return read_run_config(read_toml(folder.config))


def store_train(folder: RunFolder, train: TrainConfig) -> None:
    """Store settings of training that do not affect the weights, raised limits, or a choice."""
    stored = read_config(folder)
    if stored.train != train:
        write_text(folder.config, to_toml(replace(stored, train=train)))


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process inside a `with` block; create it if it is missing.

    Raise a ModelError if another process has locked it. The kernel releases the lock of a killed
    process, so no lock is ever stale.
    """
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = open_append(folder / LOCK)
    with file:
        if not try_lock(file.fileno()):
            raise ModelError(
                f"another process works in {folder}",
                "a folder that no other process uses",
                "wait for that process, stop it, or choose another folder",
            )
        yield
