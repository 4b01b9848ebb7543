"""What a run learns from and is scored on, whatever its kind: sentence pairs or captioned pictures.

The loop, the evaluation and the checkpoints know these names only; `texts` and `captioned` make
them.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from torch import Tensor

from attncli.data.batching import Examples
from attncli.data.tokens import Dropped
from attncli.training.config import TrainConfig
from attncli.training.events import Scores
from models.bundle import Bundle
from models.config import ModelConfig
from models.model import EncoderDecoder
from models.tokenizer import Tokenizer
from models.types import Batch

LARGEST, SMALLEST = 32_000, 400  # pieces chosen

Show = Callable[[str, float, float], None]  # what is going on, how much is done, of how much
Heartbeat = Callable[[float], None]  # told the share that is done; raises Interrupted to stop
T = TypeVar("T")


class Dev(Protocol):
    """A set that is decoded and scored while training."""

    def __len__(self) -> int:
        """Sources to decode."""

    def too_long(self, tokenizer: Tokenizer, config: ModelConfig) -> int:
        """How many of them the model does not take; they score as an empty output."""

    def seen_by(self, model: EncoderDecoder, beat: Heartbeat) -> Dev:
        """The set as the model's encoder now sees it; asked first, for all that follows."""

    def batches(self, tokenizer: Tokenizer, model: EncoderDecoder) -> Iterator[Batch]:
        """What the loss is taken on, where the model is."""

    def outputs(self, bundle: Bundle, device: str, beat: Heartbeat) -> list[str]:
        """The output of each source, by the bundle's search."""

    def scores(self, loss: float, outputs: list[str], config: TrainConfig) -> Scores:
        """Outputs against references, beside the loss."""


class Criticised(NamedTuple):
    """What a batch teaches by reward instead of by example, summed over its pieces."""

    loss: Tensor
    nll: float  # of what was sampled, in nats
    reward: float  # mean of what was sampled
    tokens: int  # pieces sampled


class Critic(Protocol):
    """Samples outputs, and says how much better they are than usual."""

    def __call__(self, model: EncoderDecoder, batch: Batch, numbers: np.ndarray) -> Criticised:
        """The loss whose gradient makes better outputs likelier; numbers: of the examples."""


class Prepared(NamedTuple):
    """Data ready for training."""

    tokenizer: Tokenizer
    examples: Examples
    dropped: Dropped
    notes: tuple[str, ...] = ()  # what the user should know about the data
    critic: Critic | None = None  # where it is to be learned from reward at some time


class Data(NamedTuple):
    """All that a run learns from and is scored on."""

    prepared: Prepared
    dev: Dev | None


def interruptible(work: Callable[[], T]) -> T:
    """Do the work in another thread, so that Ctrl-C need not wait for a long call into C++."""
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    for error in errors:
        raise error
    return results[0]


def size_for(words: int) -> int:
    """A vocabulary size: ten times the root of the running words, in hundreds.

    8,600 for the 30,000 pairs of Multi30k, 32,000 from some ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Running words of some lines."""
    return sum(len(line.split()) for line in lines)
