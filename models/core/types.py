"""Types shared by several files: batches, memories, decoding steps and hypotheses.

Sizes, everywhere: B sentences, R hypotheses (rows), T queries, S slots, Y vocabulary,
H heads, and Q, K, V feature sizes. Batch first; a mask is True where a slot is real.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from typing_extensions import Self

Link = tuple[int, int]  # source unit, target unit, counted from 0
Span = tuple[int, int]  # first character of a text, and the one after the last


def select(value: Any, rows: Tensor) -> Any:
    """Return the given rows (N,), in this order, of a tensor or of all tensors in a tuple.

    value: a tensor, a tuple or NamedTuple of such values, or another object, which is unchanged. A
    row may occur several times.
    """
    if isinstance(value, tuple):
        parts = (select(part, rows) for part in value)
        return type(value)._make(parts) if hasattr(value, "_make") else tuple(parts)
    return value.index_select(0, rows) if hasattr(value, "index_select") else value


def to_device(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor on a device.

    A copy to a CUDA device starts from pinned memory, so the host does not wait for it, nor for the
    kernels that are queued before it.
    """
    if device.type == "cuda" and tensor.device.type == "cpu":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


class VocabularySizes(NamedTuple):
    """Numbers of tokens; `joint` if source and target share one vocabulary."""

    source: int  # 0 for inputs that are not text
    target: int
    joint: bool


class Batch(NamedTuple):
    """Padded sentence pairs, ready for teacher forcing."""

    source: Tensor  # (B, S) ids, end mark included, or frames; fewer rows if targets share one
    source_mask: Tensor  # (B, S)
    target_in: Tensor  # (B, T) ids, start mark first
    target_out: Tensor  # (B, T) ids, end mark last
    target_mask: Tensor  # (B, T)
    rows: Tensor | None = None  # (B,) source row of each target, if targets share sources
    regions: Tensor | None = None  # (B, T, S) where attention should be; a row sums to 1 or 0
    images: Tensor | None = None  # features (B, S, V) or pixels of the image of each row
    memory_mask: Tensor | None = None  # (B, S) of every target's memory, once it is encoded

    @property
    def slots(self) -> Tensor:
        """Mask (B, S) of the real source slots of every target."""
        if self.memory_mask is not None:
            return self.memory_mask
        return self.source_mask if self.rows is None else self.source_mask[self.rows]

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """Return the batch with a function applied to every part."""
        return Batch._make(None if part is None else change(part) for part in self)


class TokenMemory(NamedTuple):
    """Memory whose slots are tokens of the output vocabulary: words that may be copied."""

    ids: Tensor  # (B, S)
    before: Tensor  # (B, S) the token before it in its word or term; PAD at the first one
    log_prob: Tensor  # (B, S) of the word
    mask: Tensor  # (B, S)


class Looks(NamedTuple):
    """Slots that a person chooses for the steps of a decoder; see models.engines.steering."""

    slots: Tensor  # (B, L, S) True where look l allows the slot; look 0 allows all
    number: Tensor | None = None  # (R, T) look of each step of R rows; None: no step has one

    def allowed(self) -> Tensor | None:
        """Return the slots of each query, (B, T, S), where rows of one sentence are queries of it.

        None if no step has a look.
        """
        if self.number is None:
            return None
        places = self.number.reshape(len(self.slots), -1, 1)  # (B, R / B * T, 1)
        return self.slots.gather(1, places.expand(-1, -1, self.slots.shape[2]))


def at_steps(prepared: Any, number: Tensor) -> Any:
    """Return a prepared memory, or several in a tuple, whose looks have numbers (R, T)."""
    if isinstance(prepared, Looks):
        return prepared._replace(number=number)
    if not isinstance(prepared, tuple):
        return prepared
    parts = (at_steps(part, number) for part in prepared)
    return type(prepared)._make(parts) if hasattr(prepared, "_make") else tuple(parts)


class Memory(NamedTuple):
    """Output of an encoder: one slot per source token or image cell."""

    values: Tensor  # (B, S, V)
    mask: Tensor  # (B, S)
    final: Tensor | None = None  # (B, F) input of the decoder's first state, if it needs one
    grid: tuple[int, int] | None = None  # rows and columns of an image's cells
    key: Tensor | None = None  # (B,) hash of each input, which seeds the samples of hard attention
    tokens: TokenMemory | None = None  # read after each decoder step; see decoders/readers.py
    ids: Tensor | None = None  # (B, S) source tokens, if the decoder can copy them
    part: Tensor | None = None  # (B, S) number of the input of each slot, if there are several
    first: Tensor | None = None  # (B, 1) the first token of each output, if it is given
    looks: Looks | None = None  # slots that steps may attend to, if an output is steered


class AttentionOutput(NamedTuple):
    """Result of attention queries to a memory."""

    context: Tensor  # (B, T, V)
    weights: Tensor  # (B, T, S) applied to the values; the mean of all heads
    log_prob: Tensor | None = None  # (B, T) of the slots sampled while training, for REINFORCE
    entropy: Tensor | None = None  # (B, T) in nats, of the distributions they were sampled from
    history: Any = None  # for the next query; None if unused
    heads: Tensor | None = None  # (B, T, H, S) weights of each head, if there are several
    position: Tensor | None = None  # (B, T, S) where a monotonic normaliser has stopped

    def rows(self) -> AttentionOutput:
        """Flatten B sentences of T queries to B * T rows; the history is in rows already."""
        context, weights, log_prob, entropy, history, heads, _ = self
        return AttentionOutput(
            context.flatten(0, 1),
            weights.flatten(0, 1),
            None if log_prob is None else log_prob.flatten(),
            None if entropy is None else entropy.flatten(),
            history,
            None if heads is None else heads.flatten(0, 1),
        )


class DecodingStep(NamedTuple):
    """Result of one decoding step: the next token's distribution and the new state."""

    logits: Tensor  # (R, Y) in float32
    state: Any
    weights: Tensor | None = None  # (R, S) attention weights, if requested

    @property
    def log_probs(self) -> Tensor:
        """Log-probabilities (R, Y) of the next token."""
        return self.logits.log_softmax(1)


class Hypothesis(NamedTuple):
    """One output with its scores."""

    text: str
    score: float  # log-probability over length penalty; sorted by it
    log_prob: float  # natural logarithm, end mark included
    tokens: tuple[str, ...]
    ids: tuple[int, ...]
    truncated: bool = False  # the length limit ended it where the model preferred another token
    free: float | None = None  # mean log_prob of a token without the terms that it must contain


EMPTY = Hypothesis(text="", score=0.0, log_prob=0.0, tokens=(), ids=())  # of an empty source


class Confidence(NamedTuple):
    """How certain it is that an output keeps the sense of its source."""

    value: float  # probability
    is_doubtful: bool  # below the threshold of the model
    lost: tuple[str, ...] = ()  # words of the source that no word of the output translates
    added: tuple[str, ...] = ()  # words of the output that translate no word of the source
    unknown: tuple[str, ...] = ()  # words of the output that the lexicon does not have

    @property
    def words(self) -> tuple[str, ...]:
        """The doubtful words of the output, in small letters."""
        return (*self.added, *self.unknown)


class Translation(NamedTuple):
    """A source text and its outputs, best first."""

    source: str
    hypotheses: tuple[Hypothesis, ...]
    to: str = ""  # target language, for a model of several languages
    confidence: Confidence | None = None  # of the best output, by a model with a calibration
    language: str = ""  # of the source, if it is known

    @property
    def text(self) -> str:
        """Text of the best output."""
        return self.hypotheses[0].text


class LabelProbability(NamedTuple):
    """A label and its probability."""

    label: str
    probability: float


class WordWeight(NamedTuple):
    """A word and its share of the attention; the weights of all words of a text sum to 1.

    With the window local_p or a null slot, they sum to at most 1.
    """

    word: str
    weight: float


class Classification(NamedTuple):
    """A text and its labels, most probable first."""

    text: str
    labels: tuple[LabelProbability, ...]  # none for an empty text
    words: tuple[WordWeight, ...] = ()  # if the attention was requested
    heads: tuple[tuple[float, ...], ...] = ()  # weights of the words by head, if there are several

    @property
    def label(self) -> str:
        """The most probable label; "" for an empty text."""
        return self.labels[0].label if self.labels else ""


class CopiedByValues:
    """Base of what copies with all its values, and pickles with some or not at all.

    Without it, copies would be made as pickle makes them, by `__reduce__` and `__getstate__`.
    """

    def __copy__(self) -> Self:
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        memo[id(self)] = other = copy.copy(self)
        vars(other).update(copy.deepcopy(vars(self), memo))
        return other
