"""Events of a training, yielded by its job, and its interfaces. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from attncli.training.examples import Examples
    from models.core.types import Batch
    from models.networks.encoder_decoder import EncoderDecoder

Progress = Callable[[str, float, float], None]  # receives a label, the amount done, the total
Report = Callable[[float], None]  # receives the share done; raises Interrupted to stop the work
Groups = list[dict[str, Any]]  # each with "params" and their "share" of the scheduled learning rate


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


class AlreadyFinished(NamedTuple):
    """The folder holds this run, which was finished before."""

    step: int
    reason: str
    kept: FinalModel


Event = Stepped | Evaluated | Ended
RunEvent = Started | Event | FinalModel | Compared | AlreadyFinished


class Interrupted(Exception):
    """A stop was requested; the state of the run is saved."""


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


class UpdateBatch(NamedTuple):
    """The batch of one update, or a part of it."""

    examples: Examples
    numbers: np.ndarray  # of its examples
    reward_loss: RewardLoss | None = None  # self-critical training; None: likelihood


class Optimiser(Protocol):
    """Updates of parameters from their gradients; implemented by `torch.optim.Optimizer`."""

    param_groups: Groups  # each with "lr" too
    state: Any  # by parameter: its tensors by name
    defaults: dict[str, Any]

    def step(self) -> object:
        """Update every parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
