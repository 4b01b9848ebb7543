"""Events of a training, which its job yields. Nothing here imports torch."""

from __future__ import annotations

from typing import NamedTuple

from attncli.training.interfaces import Compared, Scores


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
