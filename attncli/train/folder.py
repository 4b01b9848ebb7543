"""The folder of a run, its claim by a process, and how far the run is. Imports no torch."""

from __future__ import annotations

import dataclasses
import json
import math
import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from attncli.terminal.messages import counted
from attncli.train._checkpoint import intact_file, read_metadata, read_tensors
from attncli.train._schedule import time_share
from attncli.train.events import AlreadyFinished, FinalModel
from attncli.training.config import RunConfig, TrainConfig, read_run_config, read_toml, to_toml
from models.core.errors import ModelError, naming
from models.core.files import (
    LOCK,
    check_regular,
    is_leftover,
    remove_leftovers,
    write_errors,
    write_text,
)
from models.core.settings import flat, parse_json, to_dict
from models.storage.installed import SEED

STORED_CHOICES = ("metric", "precision")  # of [train]
START = "start"  # the initial model among the hashes of a run's inputs
HARMLESS = ("checkpoint_minutes", "log_every", "loggers", "samples")  # they change no weights
UNCHECKED = {  # of corpora, the contents are compared instead
    *("preset", "start_from", "data.corpora", "data.dev_corpora"),
    *(f"train.{name}" for name in HARMLESS),
}
SCHEDULE = (  # of [train]; may change when a run continues
    *("lr", "schedule", "warmup", "plateau_patience", "encoder_lr", "self_critical_lr"),
)
LIMITS = ("train.steps", "train.epochs", "train.minutes", "train.patience")  # 0: no limit
PRUNED = ("step", "tokens", "seconds", "best", "ended", "kept")  # counters in finished.json


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
    def name(self) -> str:
        """The name of the folder; of a run of a comparison "dot, seed 1"."""
        folder = self.path.absolute()
        seed = SEED.fullmatch(folder.name)
        return f"{folder.parent.name}, seed {seed[1]}" if seed else folder.name

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
    check_regular(folder.path)
    with naming(folder.config):
        return read_run_config(read_toml(folder.config))


def store_train(folder: RunFolder, train: TrainConfig) -> None:
    """Store settings of training that do not affect the weights, raised limits, or a choice."""
    stored = read_config(folder)
    if stored.train != train:
        write_text(folder.config, to_toml(replace(stored, train=train)))


def claim(folder: RunFolder, config: RunConfig, fingerprint: dict[str, str]) -> bool:
    """Start a run in the folder, or check that it belongs to this run; return True if it was new.

    config: its [train] is that of `with_stored_choices`. Raise the ModelError of `check_claim`.
    """
    check_claim(folder, config, fingerprint)
    is_new = not folder.config.exists()
    # safe, because the lock of the folder is held: no other process writes here
    for place in (folder.path, folder.snapshots, folder.samples):
        remove_leftovers(place)
    if folder.has_begun:
        store_train(folder, config.train)
        return False
    # before config.toml, whose presence says that the run has begun
    write_text(folder.inputs, json.dumps(fingerprint, indent=2) + "\n")
    write_text(folder.config, to_toml(config))
    return is_new


def check_claim(folder: RunFolder, config: RunConfig, fingerprint: dict[str, str]) -> None:
    """Raise a ModelError if an existing folder cannot be claimed for this run; write nothing.

    The error lists the differences if the folder holds a run of another configuration or of other
    data. Until its data are prepared, a run can still change its settings; afterwards its limits
    can be raised, and settings can change that do not affect the weights.
    """
    for place in (folder.data, folder.snapshots, folder.samples):
        if place.is_symlink():  # files in these folders are removed
            raise ModelError(f"{place} is a link", "a folder of this run alone", "remove the link")
    with write_errors(folder.path):
        there = {path.name for path in folder.path.iterdir() if not is_leftover(path)}
    if folder.has_begun:
        changed = differences(config, read_config(folder), may_continue=not folder.is_pruned)
        _check_same(folder, changed, fingerprint)
    elif not {"config.toml", "inputs.json"} <= there and there - {"inputs.json", LOCK}:
        raise ModelError(
            f"{folder.path} contains files but no run", "a new or empty folder", "choose another -o"
        )


@contextmanager
def released(folder: RunFolder, is_new: bool) -> Iterator[None]:
    """Remove what `claim` wrote for a new run if the block refuses its data.

    Nothing is removed if the folder has other files.
    """
    try:
        yield
    except ModelError:
        there = {path.name for path in folder.path.iterdir()}
        if is_new and there <= {"config.toml", "inputs.json", "data", LOCK}:
            shutil.rmtree(folder.path / "data", ignore_errors=True)
            folder.config.unlink(missing_ok=True)
            folder.inputs.unlink(missing_ok=True)
        raise


def with_stored_choices(folder: RunFolder, train: TrainConfig) -> TrainConfig:
    """Return the settings of [train] with the choices that the run was started with.

    Metric and precision were chosen when the run started, if they are auto.
    """
    if not folder.has_begun:
        return train
    stored, usual = read_config(folder).train, TrainConfig()
    # auto would be decided anew, on another machine perhaps otherwise
    unset = [name for name in STORED_CHOICES if getattr(train, name) == getattr(usual, name)]
    return replace(train, **{name: getattr(stored, name) for name in unset})


def schedule_changes(folder: RunFolder, train: TrainConfig) -> tuple[str, ...]:
    """Return the settings of the learning rate that differ from those of a begun run, as text."""
    if not folder.has_begun:
        return ()
    stored = read_config(folder).train
    changed = [name for name in SCHEDULE if getattr(stored, name) != getattr(train, name)]
    return tuple(
        f"train.{name} was {getattr(stored, name)}, now {getattr(train, name)}" for name in changed
    )


def check_schedule(folder: RunFolder, train: TrainConfig) -> None:
    """Raise a ModelError if the learning rate changes in a run that has no updates left."""
    if changes := schedule_changes(folder, train):
        raise ModelError(
            f"{folder.path} holds a finished run: {', '.join(changes)}",
            "the same learning rate, or a raised limit such as train.steps",
            "choose another -o",
        )


def differences(new: RunConfig, old: RunConfig, *, may_continue: bool = True) -> list[str]:
    """Return the settings that differ between two runs, as `section.key was old, now new`.

    Paths of data, and settings that cannot change the weights, are not compared. may_continue:
    leave out limits that are raised, because the run can continue to them, and its schedule.
    """
    before, unchecked = flat(to_dict(old)), {f"data.{name}" for name in new.data.paths()}
    return [
        f"{place} was {before[place]!r}, now {value!r}"
        for place, value in flat(to_dict(new)).items()
        if place in before and value != before[place] and place not in UNCHECKED | unchecked
        if not (may_continue and place in LIMITS and 0 < before[place] < (value or math.inf))
        if not (may_continue and place.removeprefix("train.") in SCHEDULE)
    ]


def _check_same(folder: RunFolder, changed: list[str], fingerprint: dict[str, str]) -> None:
    """Raise ModelError for changed settings or data, or raised limits of a pruned run."""
    try:
        inputs = dict(parse_json(folder.inputs.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder.inputs} is missing or damaged ({error})",
            "the hashes of the data files at the start of the run",
            "choose another -o, or remove that folder",
        ) from None
    found = [
        "the initial model has changed" if part == START else f"the {part} data have changed"
        for part in dict.fromkeys([*fingerprint, *inputs.keys() & {START}])
        if inputs.get(part) != fingerprint.get(part)
    ]
    found += changed  # of which some are of another preset, and were not typed
    if found:
        place = shlex.quote(str(folder.path))
        pruned = " (pruned, so its limits cannot be raised)" if folder.is_pruned else ""
        raise ModelError(
            f"{folder.path} holds another run{pruned}: {', '.join(found)}",
            "the same data and configuration",
            f"{'' if len(found) > len(changed) else f'`attn train {place}` continues it; '}"
            f"choose another -o, with --start-from {place} to start from its weights",
        )


@dataclass
class Counters:
    """Counters and best scores of a run, as its checkpoint stores them."""

    step: int = 0  # updates done
    epoch: int = 0  # index of the current epoch, from 0
    batch: int = 0  # batches of this epoch done
    tokens: int = 0  # target tokens seen
    seconds: float = 0.0  # time spent on updates
    elapsed: float = 0.0  # training time in seconds, evaluations included
    cuts: int = 0  # reductions of the learning rate by the plateau schedule
    plateau_waits: int = 0  # evaluations since the last gain or cut
    waits: int = 0  # evaluations since the last gain
    best: float | None = None  # best dev score; higher is better
    best_loss: float | None = None  # dev loss at the best score
    best_step: int = 0
    evaluated: int = 0  # step of the last evaluation
    snapshots: list[int] = field(default_factory=list)  # steps whose weights are kept, oldest first
    log_bytes: int = 0  # size of log.jsonl at the checkpoint
    interval: dict[str, float] = field(default_factory=dict)  # sums for the next log record
    baseline: float | None = None  # hard attention: REINFORCE baseline
    level: float | None = None  # moving average of the loss of updates
    lowest: float | None = None  # of these averages
    scale: float = 0.0  # fp16: factor on the loss; 0 before the first update
    unscaled: int = 0  # fp16: updates since the factor changed
    ended: str = ""  # reason why the updates ended; "" before
    kept: FinalModel | None = None  # final model, once it is written


def parse_counters(text: str) -> Counters:
    """Return counters that were stored as JSON."""
    counters = Counters(**parse_json(text))
    return dataclasses.replace(counters, kept=counters.kept and FinalModel(*counters.kept))


def read_progress(folder: RunFolder) -> Counters | None:
    """Return the counters of a run, without reading its weights; None before its first checkpoint.

    Raises DamagedError if finished.json or the checkpoint is damaged.
    """
    if not folder.is_pruned:
        return read_counters(folder)
    with intact_file(folder.finished):
        return parse_counters(folder.finished.read_text("utf-8"))


def read_counters(folder: RunFolder) -> Counters | None:
    """Return the counters of the checkpoint; None if there is none."""
    if not folder.checkpoint.exists():
        return None
    metadata = read_metadata(folder.checkpoint)
    with intact_file(folder.checkpoint):
        return parse_counters(metadata["counters"])


def finished_run(folder: RunFolder) -> AlreadyFinished | None:
    """Return the event of a finished run; None for one that has not finished."""
    counters = read_progress(folder)
    if counters is None or counters.kept is None:
        return None
    return AlreadyFinished(counters.step, counters.ended, counters.kept)


def write_finished(folder: RunFolder) -> None:
    """Write finished.json of a finished run, whose checkpoint is then removed."""
    counters = read_progress(folder)
    record = {name: getattr(counters, name) for name in PRUNED}
    write_text(folder.finished, json.dumps(record, indent=2) + "\n")


def check_stored(folder: RunFolder) -> None:
    """Compare checkpoints and prepared data with their digests; raise ModelError for damage."""
    from attncli.training.prepared import check_folder  # `attn models` reads no data

    if folder.data.is_dir():
        check_folder(folder.data)
    for file in (folder.checkpoint, *sorted(folder.snapshots.glob("*"))):
        if file.exists():
            read_tensors(file)


def limit_reached(counters: Counters, config: TrainConfig) -> str:
    """Return why the run must end now, or ""."""
    if 0 < config.steps <= counters.step:
        return f"{counted(config.steps, 'update')} done"
    if 0 < config.epochs <= counters.epoch:
        more = f", before train.steps={config.steps} (train.epochs=0: no limit)"
        return f"{counted(config.epochs, 'epoch')} done{more if config.steps else ''}"
    if time_share(counters.elapsed, config) >= 1:
        return f"{config.minutes:g} minute{'s' * (config.minutes != 1)} of training done"
    return ""


def can_continue(folder: RunFolder, config: TrainConfig) -> bool:
    """Return True if a finished run has not reached the limits of these settings.

    A run without a checkpoint (`attn runs prune`) cannot continue.
    """
    counters = read_counters(folder)
    return counters is not None and not is_over(counters, config)


def is_over(counters: Counters, config: TrainConfig) -> bool:
    """Return True if a limit is reached, or training stops early."""
    stops_early = 0 < config.patience <= counters.waits
    return stops_early or bool(limit_reached(counters, config))
