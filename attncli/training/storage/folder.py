"""A run folder: its files, and the check that it belongs to this run.

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

import json
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attncli.training.settings.changes import differences
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.settings.toml import read_toml, to_toml
from attncli.training.storage.lock import NAME as LOCK
from models.base.errors import ModelError
from models.base.files import is_leftover, remove_leftovers, write_errors, write_text
from models.base.parsing import parse_json
from models.base.settings import from_dict, merged
from models.catalogue.presets import preset as find_preset

STORED_CHOICES = ("sort", "metric", "precision", "shards")  # of [train]
START = "start"  # the initial model among the hashes of a run's inputs


class RunFolder(NamedTuple):
    """The paths of a run."""

    path: Path

    @property
    def config(self) -> Path:
        """The whole configuration."""
        return self.path / "config.toml"

    @property
    def inputs(self) -> Path:
        """Hashes of the data files at the start of the run."""
        return self.path / "inputs.json"

    @property
    def has_begun(self) -> bool:
        """Return True if the data of a run are prepared, or it has ended."""
        return self.config.exists() and (self.data.exists() or self.finished.exists())

    @property
    def data(self) -> Path:
        """The tokenised corpus and its tokenizer."""
        return self.path / "data"

    @property
    def checkpoint(self) -> Path:
        """The state from which an interrupted run continues."""
        return self.path / "checkpoint.safetensors"

    @property
    def finished(self) -> Path:
        """Progress of a finished run whose checkpoint `attn runs prune` removed."""
        return self.path / "finished.json"

    @property
    def is_pruned(self) -> bool:
        """Return True if `attn runs prune` removed the checkpoint of a finished run."""
        return self.finished.exists() and not self.checkpoint.exists()

    @property
    def log(self) -> Path:
        """One JSON record per line."""
        return self.path / "log.jsonl"

    @property
    def samples(self) -> Path:
        """Outputs for some dev examples at each evaluation, and their page."""
        return self.path / "samples"

    @property
    def snapshots(self) -> Path:
        """The weights of the last evaluations, one file each."""
        return self.path / "snapshots"

    def snapshot(self, step: int) -> Path:
        """Return the path of the weights of one evaluation."""
        return self.snapshots / f"{step}.safetensors"


def with_stored_choices(folder: RunFolder, preset: str, train: TrainConfig) -> TrainConfig:
    """Return the settings of [train] with the choices that the run was started with.

    The defaults of batch order and metric have changed; a run of an earlier version continues with
    its own. The precision was chosen when the run started, if train.precision is auto. A run of
    several processes continues with its shards in any number of processes. Some presets had another
    optimiser in version 0.1.0; a run continues with the recipe of its time.
    """
    if not folder.has_begun:
        return train
    stored = read_config(folder)
    train = _with_stored(train, stored.train, STORED_CHOICES, TrainConfig())
    recipe = find_preset(preset).train
    usual = merged(TrainConfig(), recipe)
    if preset == stored.preset and stored.train.optimiser != usual.optimiser:
        train = _with_stored(train, stored.train, recipe, usual)
    return train


def _with_stored(
    config: TrainConfig, stored: TrainConfig, names: Iterable[str], usual: TrainConfig
) -> TrainConfig:
    """Return settings in which the named ones, where they have their usual values, are stored's."""
    unset = [name for name in names if getattr(config, name) == getattr(usual, name)]
    return replace(config, **{name: getattr(stored, name) for name in unset})


def claim(folder: RunFolder, config: RunConfig, fingerprint: dict[str, str]) -> None:
    """Start a run in the folder, or check that the folder belongs to this run.

    config: its [train] is that of `with_stored_choices`. Raise a ModelError that lists the
    differences if the folder holds a run of another configuration or of other data. Until its data
    are prepared, a run can still change its settings; afterwards its limits can be raised, and
    settings can change that do not affect the weights.
    """
    with write_errors(folder.path):
        there = {path.name for path in folder.path.iterdir() if not is_leftover(path)}
    if folder.has_begun:
        changed = differences(config, read_config(folder), may_continue=not folder.is_pruned)
        _check_same(folder, changed, fingerprint)
    elif not {"config.toml", "inputs.json"} <= there and there - {"inputs.json", LOCK}:
        raise ModelError(
            f"{folder.path} contains files but no run", "a new or empty folder", "choose another -o"
        )
    for place in (folder.path, folder.snapshots, folder.samples):
        remove_leftovers(place)
    if folder.has_begun:
        store_train(folder, config.train)
    else:
        write_text(folder.inputs, json.dumps(fingerprint, indent=2) + "\n")
        write_text(folder.config, to_toml(config))


def read_config(folder: RunFolder) -> RunConfig:
    """Return the configuration that a run was started with."""
    values = read_toml(folder.config)
    if isinstance(train := values.get("train"), dict):
        train.setdefault("sort", "both_sides")  # of versions that did not store it
    return from_dict(RunConfig, values)


def store_train(folder: RunFolder, train: TrainConfig) -> None:
    """Store settings of training that do not affect the weights, raised limits, or a choice."""
    stored = read_config(folder)
    if stored.train != train:
        write_text(folder.config, to_toml(replace(stored, train=train)))


def _check_same(folder: RunFolder, changed: list[str], fingerprint: dict[str, str]) -> None:
    """Raise ModelError for changed settings or data, or raised limits of a pruned run."""
    inputs = _read_inputs(folder)
    found = changed + [
        "the initial model has changed" if part == START else f"the {part} data have changed"
        for part in dict.fromkeys([*fingerprint, *inputs.keys() & {START}])
        if inputs.get(part) != fingerprint.get(part)
    ]
    if found:
        pruned = " (pruned, so its limits cannot be raised)" if folder.is_pruned else ""
        raise ModelError(
            f"{folder.path} holds another run{pruned}: {', '.join(found)}",
            "the same data and configuration",
            "choose another -o, with --start-from "
            f"{shlex.quote(str(folder.path))} to start from its weights",
        )


def _read_inputs(folder: RunFolder) -> dict[str, str]:
    try:
        return dict(parse_json(folder.inputs.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder.inputs} is missing or damaged ({error})",
            "the hashes of the data files at the start of the run",
            "choose another -o, or remove that folder",
        ) from None
