"""Interfaces of the training loop to data, common to all kinds of input, and to optimisers.

The packages `attncli.training.sources.*` build these; the loop, the evaluation and the checkpoints
use them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from attncli.data.batching import Examples
from attncli.data.panels import ShownExample
from attncli.data.text.tokens import Dropped
from attncli.training.events import Scores
from attncli.training.settings.config import TrainConfig
from models.base.types import Batch
from models.bundle import Bundle
from models.config import ModelConfig, PrepareConfig
from models.families.encoder_decoder import EncoderDecoder
from models.text.tokenizer import Tokenizer

Progress = Callable[[str, float, float], None]  # receives a label, the amount done, the total
Report = Callable[[float], None]  # receives the share done; raises Interrupted to stop the work
Groups = list[dict[str, Any]]  # each with "params" and their "share" of the scheduled learning rate


class DevSet(Protocol):
    """Examples that are decoded and scored during training."""

    def __len__(self) -> int:
        """Return the number of sources."""

    def default_metric(self) -> str:
        """Return the metric for train.metric = auto."""

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """Return the number of sources that are too long for the model."""

    def encoded_by(self, model: EncoderDecoder, report: Report) -> DevSet:
        """Return the set with features of the model's current encoder; call this first.

        Text needs no encoding in advance: the set itself.
        """
        return self

    def some(self, numbers: list[int]) -> DevSet:
        """Return the set with the sources of these numbers only; they increase."""

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """Yield the batches for the loss, on the model's device."""

    def outputs(self, bundle: Bundle, device: str, report: Report) -> list[str]:
        """Return the output for each source, found by the bundle's search."""

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Return the scores of outputs against the references, and the loss."""

    def samples(self, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        """Return at most `count` examples, always the same, with the outputs of the model.

        One of them has an attention map, if the model has attention.
        """


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


class Prepared(NamedTuple):
    """Data ready for training."""

    tokenizer: Tokenizer
    examples: Examples
    dropped: Dropped
    notes: tuple[str, ...] = ()  # warnings about the data
    reward_loss: RewardLoss | None = None  # for self-critical training
    remarks: tuple[str, ...] = ()  # choices made for the user, to tell when the run starts
    prepare: PrepareConfig = PrepareConfig()  # of the texts that the trained model will read


class Data(NamedTuple):
    """Training data and dev set of a run."""

    prepared: Prepared
    dev: DevSet | None
    replay: DevSet | None = None  # pairs that measure what the initial model knew


class Optimiser(Protocol):
    """Updates of parameters from their gradients; implemented by `torch.optim.Optimizer`."""

    param_groups: Groups  # each with "lr" too
    state: Any  # by parameter: its tensors by name
    defaults: dict[str, Any]

    def step(self) -> Any:
        """Update every parameter."""

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Reset the gradients."""
