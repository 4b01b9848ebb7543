"""Events of a training, which its job yields, and log.jsonl, their record. Imports no torch.

log.jsonl has one JSON record per line, and is truncated to the checkpoint when a run continues. A
record of training has the means over the updates since the last one. The checkpoint stores their
sums.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from attncli.training.interfaces import Compared, Scores
from models.core.annexes import find_part
from models.core.files import open_append, write_errors

PER_TOKEN = ("loss", "nll")  # weighted by target tokens; the others by updates
SUMMED = ("tokens", "seconds")


class Started(NamedTuple):
    """The data and the model are ready; the updates follow."""

    preset: str
    parameters: int
    vocabulary: str  # sizes, as text
    pairs: int  # training examples
    unit: str  # plural name of the examples: "sentence pairs"
    length_limits: str  # settings that exclude long examples
    empty: int  # pairs left out: a side has no text
    long: int  # pairs left out: a side has too many tokens
    notes: tuple[str, ...]  # warnings about the data
    dev: int  # sources to decode and score
    dev_long: int  # of these, too long for the model: they are translated in parts
    device: str
    precision: str  # fp32 or bf16
    metric: str  # of early stopping; "" without a dev set
    metric_is_auto: bool  # True if it was chosen from the dev data
    step: int  # updates done before; 0: a fresh run
    remarks: tuple[str, ...] = ()  # choices made for the user
    processes: int = 1
    dev_option: str = "--dev"  # of `attn train`, which names a dev set for these data


class Stepped(NamedTuple):
    """One update of the weights."""

    step: int
    epoch: int
    progress: float  # share of this epoch that is done
    loss: float  # per target token, smoothed, in nats
    nll: float  # per target token, in nats
    lr: float
    norm: float  # of the gradient, before clipping
    reward: float | None  # self-critical training: mean reward of the captions sampled
    tokens: int  # target tokens of this update
    seconds: float  # duration of this update
    elapsed: float = 0.0  # training time so far in seconds, evaluations included


class Evaluated(NamedTuple):
    """One evaluation on the dev set."""

    step: int
    epoch: int
    scores: Scores
    gained: bool  # True if it is the best so far


class Ended(NamedTuple):
    """End of the updates."""

    step: int
    reason: str


class FinalModel(NamedTuple):
    """The final model of a run."""

    which: str  # "best", "average of N" or "last"
    score: float | None  # on the dev set, by the metric
    step: int
    metric: str = ""  # of the score; "" without a dev set


class AlreadyFinished(NamedTuple):
    """The folder holds this run, which was finished before."""

    step: int
    reason: str
    kept: FinalModel


Event = Stepped | Evaluated | Ended
RunEvent = Started | Event | FinalModel | Compared | AlreadyFinished


class Interrupted(Exception):
    """A stop was requested; the state of the run is saved."""


class LoggedRun(NamedTuple):
    """Facts about a run that its listeners receive."""

    folder: Path
    step: int  # updates done before; later records of an interrupted run are written again
    settings: dict[str, object]  # of the run, as nested tables


class Listener(Protocol):
    """Receiver of the records of a run, opened as `Class(LoggedRun)`; train.loggers names some."""

    @classmethod
    def check(cls, package: str) -> None:
        """Raise ModelError if a package that it needs is not installed."""

    def write(self, event: str, record: Mapping[str, object]) -> None:
        """Write a record of the log. event: train, dev, start, average."""

    def close(self) -> None:
        """End the run, or this part of an interrupted run."""


def check_listeners(names: Sequence[str]) -> None:
    """Raise ModelError for a listener without its package."""
    for name in names:
        find_part("logger", name).check(name)


def open_listeners(names: Sequence[str], run: LoggedRun) -> list[Listener]:
    """Return the listeners of a run, each once."""
    return [find_part("logger", name)(run) for name in dict.fromkeys(names)]


class Log:
    """Log file that appends records and reports its size, which checkpoints store."""

    def __init__(self, path: Path, size: int, listeners: Sequence[Listener] = ()) -> None:
        self.path, self.listeners = path, listeners
        with write_errors(path):
            self.file = open_append(path)
            os.ftruncate(self.file.fileno(), min(size, self.size))

    def write(self, event: str, record: Mapping[str, object]) -> None:
        """Append one record; pass it to the listeners too."""
        rounded = {
            key: float(f"{value:.6g}") if isinstance(value, float) else value
            for key, value in record.items()
        }
        with write_errors(self.path):
            self.file.write(json.dumps({"event": event, **rounded}).encode() + b"\n")
            self.file.flush()
            for listener in self.listeners:
                listener.write(event, rounded)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return os.fstat(self.file.fileno()).st_size

    def sync(self) -> None:
        """Flush the log to the disk; a checkpoint that stores its size is written afterwards."""
        with write_errors(self.path):
            os.fsync(self.file.fileno())

    def close(self) -> None:
        """End the run for the listeners."""
        for listener in self.listeners:
            listener.close()


def read_log(path: Path) -> list[dict[str, Any]]:
    """Return the records of a log. Damaged lines are skipped: they only affect the curves."""
    with path.open("rb") as file:
        found = [_record(line) for line in file]
    return [record for record in found if record]


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) and "event" in record else {}


def add_update(sums: dict[str, float], event: Stepped) -> None:
    """Add an update to the sums of an interval."""
    amounts: dict[str, float] = {"updates": 1, "norm": event.norm}
    amounts |= {name: getattr(event, name) for name in SUMMED}
    amounts |= {name: getattr(event, name) * event.tokens for name in PER_TOKEN}
    if event.reward is not None:
        amounts |= {"reward": event.reward, "rewarded": 1}
    for name, amount in amounts.items():
        sums[name] = sums.get(name, 0) + amount


def interval_record(sums: dict[str, float], event: Stepped) -> dict[str, float]:
    """Return the record of an interval that ends with an update.

    Loss, nll, norm and reward are means over the interval; tokens and seconds are its totals;
    epoch, progress and learning rate are those of its last update.
    """
    record = {name: value for name, value in event._asdict().items() if value is not None}
    record |= {name: sums[name] / sums["tokens"] for name in PER_TOKEN}
    record |= {name: sums[name] for name in SUMMED}
    record["norm"] = sums["norm"] / sums["updates"]
    if "reward" in sums:
        record["reward"] = sums["reward"] / sums["rewarded"]
    return {**record, "tokens_per_second": sums["tokens"] / max(sums["seconds"], 1e-9)}
