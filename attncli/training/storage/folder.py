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
checkpoint.previous.safetensors   the one before, used if the last is damaged
samples/                 outputs for some dev examples at each evaluation, and their page
snapshots/               weights of the last evaluations, to be averaged
finished.json            in place of checkpoint, snapshots and data/ after `attn runs prune`
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attncli.training.settings.changes import differences
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.settings.toml import from_toml, to_toml
from attncli.training.storage.lock import NAME as LOCK
from models.base.errors import ModelError
from models.base.files import is_leftover, remove_leftovers, write_errors, write_text
from models.base.parsing import parse_json
from models.base.settings import from_dict, merged
from models.catalogue.presets import preset
from models.storage.settings import WEIGHTS

EARLIER = (  # settings of versions that did not store them
    ("train", "sort", "both_sides"),
)
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
    def previous(self) -> Path:
        """The checkpoint before the last one."""
        return self.path / "checkpoint.previous.safetensors"

    @property
    def log(self) -> Path:
        """One JSON record per line."""
        return self.path / "log.jsonl"

    @property
    def curves(self) -> Path:
        """Chart of losses and dev scores."""
        return self.path / "curves.png"

    @property
    def samples(self) -> Path:
        """Outputs for some dev examples at each evaluation, and their page."""
        return self.path / "samples"

    @property
    def samples_page(self) -> Path:
        """Path of the page of all samples."""
        return self.samples / "index.html"

    @property
    def snapshots(self) -> Path:
        """The weights of the last evaluations, one file each."""
        return self.path / "snapshots"

    def snapshot(self, step: int) -> Path:
        """Return the path of the weights of one evaluation."""
        return self.snapshots / f"{step}.safetensors"


def claim(folder: RunFolder, config: RunConfig, fingerprint: dict[str, str]) -> None:
    """Start a run in the folder, or check that the folder belongs to this run.

    Raise a ModelError that lists the differences if the folder holds a run of another configuration
    or of other data. Until its data are prepared, a run can still change its settings; afterwards
    its limits can be raised, and settings can change that do not affect the weights.
    """
    with write_errors(folder.path):
        there = [path for path in folder.path.iterdir() if not is_leftover(path)]
        begun = folder.data.exists() or folder.finished.exists()
    foreign = {path.name for path in there} - {folder.inputs.name, LOCK}
    if not folder.config.exists() or not (begun or folder.inputs.exists()):
        if foreign:
            raise ModelError(
                f"{folder.path} contains files but no run",
                "a new or empty folder",
                "choose another -o",
            )
    elif begun:
        train = with_stored_choices(folder, config.preset, config.train)
        own, stored = replace(config, train=train), read_config(folder)
        _check_same(folder, differences(own, stored), fingerprint)
        _check_checkpoint(folder, differences(own, stored, may_continue=False))
        _tidy(folder)
        _update_config(folder, train)
        return
    _tidy(folder)
    write_text(folder.inputs, json.dumps(fingerprint, indent=2) + "\n")
    write_text(folder.config, to_toml(config))


def read_config(folder: RunFolder) -> RunConfig:
    """Return the configuration that a run was started with."""
    name = str(folder.config)
    try:
        text = folder.config.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read {name} ({error})", "a run's configuration") from None
    values = from_toml(text, name)
    for table, setting, value in EARLIER:
        if isinstance(values.get(table), dict):
            values[table].setdefault(setting, value)
    return from_dict(RunConfig, values)


def with_stored_choices(folder: RunFolder, name: str, config: TrainConfig) -> TrainConfig:
    """Return the settings with the choices that a run was started with. name: of the preset.

    The defaults of batch order and metric have changed; a run of an earlier version continues with
    its own. The precision was chosen when the run started, if train.precision is auto. A run of
    several processes continues with its shards in any number of processes. Some presets had another
    optimiser in version 0.1.0; a run continues with the recipe of its time.
    """
    stored = read_config(folder)
    names = ("sort", "metric", "precision", "shards")
    train = with_stored(config, stored.train, names, TrainConfig())
    recipe = preset(name).train
    usual = merged(TrainConfig(), recipe)
    if name == stored.preset and stored.train.optimiser != usual.optimiser:
        train = with_stored(train, stored.train, recipe, usual)
    return train


def reordered(folder: RunFolder, pairs: int) -> str:
    """Return a remark if a run was begun with another shuffle, in windows; "" otherwise.

    pairs: number of training pairs.
    """
    window = re.search(r"^shuffle_window = (\d+)$", folder.config.read_text("utf-8"), re.M)
    if not (window and int(window[1]) < pairs and folder.checkpoint.exists()):
        return ""
    return "this version shuffles all pairs at once: the rest of the epoch has another order"


def with_stored(
    config: TrainConfig, stored: TrainConfig, names: Iterable[str], usual: TrainConfig
) -> TrainConfig:
    """Return settings in which the named ones, where they have their usual values, are stored's."""
    kept = {
        name: getattr(stored, name)
        for name in names
        if getattr(config, name) == getattr(usual, name)
    }
    return replace(config, **kept)


def store_precision(folder: RunFolder, precision: str) -> None:
    """Store the precision that was chosen for a run, so that a resumed run keeps it."""
    stored = read_config(folder)
    if stored.train.precision != precision:
        train = replace(stored.train, precision=precision)
        write_text(folder.config, to_toml(replace(stored, train=train)))


def _tidy(folder: RunFolder) -> None:
    """Remove temporary files of unfinished writes."""
    for place in (folder.path, folder.snapshots, folder.samples):
        remove_leftovers(place)


def _check_same(folder: RunFolder, changed: list[str], fingerprint: dict[str, str]) -> None:
    """Raise ModelError for changed settings, which are given, and for changed data."""
    inputs = _read_inputs(folder)
    found = changed + [
        "the initial model has changed" if part == START else f"the {part} data have changed"
        for part in dict.fromkeys([*fingerprint, *inputs.keys() & {START}])
        if inputs.get(part) != fingerprint.get(part)
    ]
    if found:
        shown = ", ".join(found[:4]) + (f" and {len(found) - 4} more" if len(found) > 4 else "")
        raise ModelError(
            f"{folder.path} holds another run: {shown}",
            "the same data and configuration",
            f"choose another -o{_from_model(folder)}, or remove that folder",
        )


def _check_checkpoint(folder: RunFolder, raised: list[str]) -> None:
    """Raise ModelError for raised limits if the run cannot continue without its checkpoint."""
    if raised and folder.finished.exists() and not folder.checkpoint.exists():
        raise ModelError(
            f"the checkpoint of {folder.path} was removed by `attn runs prune`, so the run cannot "
            f"continue ({', '.join(raised)})",
            "the settings that it finished with",
            "start a new run from its model: "
            f"attn train --start-from {shlex.quote(str(folder.path))} -o FOLDER",
        )


def _from_model(folder: RunFolder) -> str:
    """Return how another run starts from the weights of this one, if it has a model."""
    if not (folder.path / WEIGHTS).exists():
        return ""
    return f" (with --start-from {shlex.quote(str(folder.path))}, to start from its weights)"


def _update_config(folder: RunFolder, train: TrainConfig) -> None:
    """Store raised limits, and settings that do not affect the weights."""
    stored = read_config(folder)
    updated = replace(stored, train=train)
    if updated != stored:
        write_text(folder.config, to_toml(updated))


def _read_inputs(folder: RunFolder) -> dict[str, str]:
    try:
        stored = parse_json(folder.inputs.read_text("utf-8"))
        if not isinstance(stored, dict):
            raise ValueError("not an object")
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder.inputs} is missing or damaged ({error})",
            "the hashes of the data files at the start of the run",
            "choose another -o, or remove that folder",
        ) from None
    return stored
