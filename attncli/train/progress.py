"""How far a run is: the counters of its checkpoint, and the limits that they reach. No torch."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass, field

from attncli.terminal.messages import counted
from attncli.train._checkpoint import intact_file, read_metadata, read_tensors
from attncli.train._schedule import time_share
from attncli.train.events import AlreadyFinished, FinalModel
from attncli.train.folder import RunFolder
from attncli.training.config import TrainConfig
from models.core.files import write_text
from models.core.settings import parse_json

PRUNED = ("step", "tokens", "seconds", "best", "ended", "kept")  # counters in finished.json


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
