"""What the parts of a training give to each other: scores, rewards, and the processes of a run.

A world is the processes of a run, seen from one of them: in the core, the only one. An annex adds a
world of several, whose parts of an update and of an evaluation are added up; every process makes
the same calls. Imports no torch.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from models.core.errors import ResourceError

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor, nn

    from models.core.types import Batch
    from models.networks.encoder_decoder import EncoderDecoder

Progress = Callable[[str, float, float], None]  # receives a label, the amount done, the total
Report = Callable[[float], None]  # receives the share done; raises Interrupted to stop the work


class Scores(NamedTuple):
    """Loss and scores on the dev set."""

    loss: float  # negative log-likelihood per target token, in nats
    bleu: float | None = None  # 0 to 100; of captions BLEU-4
    cider: float | None = None  # CIDEr-D of captions
    exact: float | None = None  # percent of the outputs equal to a reference
    error_rate: float | None = None  # token error rate in percent
    rouge_l: float | None = None  # F1 in percent
    chrf: float | None = None  # chrF2 in percent
    ter: float | None = None  # translation error rate in percent
    accuracy: float | None = None  # percent of the texts with the right label
    macro_f1: float | None = None  # mean F1 over the labels, in percent
    wer: float | None = None  # word error rate of transcripts in percent
    cer: float | None = None  # character error rate of transcripts in percent
    directions: dict[str, float] | None = None  # BLEU of each direction; `bleu` is their mean

    def as_record(self) -> dict[str, object]:
        """Return the scores by name, for the log; directions only where there are some."""
        record = self._asdict()
        return record if self.directions else {k: record[k] for k in record if k != "directions"}


class Metric(NamedTuple):
    """A metric of early stopping."""

    label: str
    digits: int = 2
    lower_is_better: bool = False


METRICS = {
    "bleu": Metric("BLEU"),
    "exact": Metric("exact match"),
    "error_rate": Metric("token error rate", lower_is_better=True),
    "rouge_l": Metric("ROUGE-L"),
    "chrf": Metric("chrF"),
    "ter": Metric("TER", lower_is_better=True),
    "cider": Metric("CIDEr", digits=3),
    "accuracy": Metric("accuracy"),
    "macro_f1": Metric("macro F1"),
    "wer": Metric("WER", lower_is_better=True),
    "cer": Metric("CER", lower_is_better=True),
    "loss": Metric("loss", digits=3, lower_is_better=True),
}


class ScoreChange(NamedTuple):
    """A score of the initial and of the final model; higher is better."""

    before: float
    after: float


class Compared(NamedTuple):
    """Comparison of the final model of a run with the initial one."""

    metric: str  # of the dev set
    step: int  # update of the final model
    dev: ScoreChange | None  # None: no dev set
    replay: ScoreChange | None  # BLEU on the replay set of the initial model; None: it has none
    share: float = 1.0  # of the new weights; the rest is that of the initial ones


class RewardLossOutput(NamedTuple):
    """Loss of sampled outputs, summed over their tokens."""

    loss: Tensor
    nll: float  # of the samples, in nats
    reward: float  # mean over the samples
    tokens: int  # in the samples


class RewardLoss(Protocol):
    """A loss from rewards of sampled outputs."""

    def __call__(
        self, model: EncoderDecoder, batch: Batch, numbers: np.ndarray
    ) -> RewardLossOutput:
        """Return the policy-gradient loss of a batch.

        numbers: index of each example of the batch, (N,).
        """


class ProcessLost(ResourceError):
    """Another process of the run ended, or did not answer in time."""


class World:
    """A world of one process, which exchanges nothing."""

    number, size = 0, 1

    def __enter__(self) -> World:
        return self

    def __exit__(self, *error: object) -> None:
        """Leave the run."""

    def own_device(self, device: str) -> str:
        """Return the device of this process, where several have one GPU each."""
        return device

    def begin(self, folder: Path) -> None:
        """Let the others join the run of a folder; for process 0."""

    def first(self, value: float) -> float:
        """Return the value of process 0."""
        return float(value)

    def total(self, values: Sequence[float]) -> list[float]:
        """Return the sums of the values over the processes."""
        return [float(value) for value in values]

    def gather(self, content: bytes) -> list[bytes]:
        """Return the bytes of every process."""
        return [content]

    def adding(self, module: nn.Module) -> nn.Module:
        """Return the module with gradients that are the means over the processes."""
        return module

    @contextlib.contextmanager
    def losses(self) -> Iterator[None]:
        """Raise ProcessLost for an exchange in this `with` block that fails or takes too long."""
        yield


ALONE = World()
