"""The interface of decoders, and their output.

    prepare(memory) -> prepared       once per source: keys, values, all that depends on it alone
    start(prepared) -> state          one row per sentence
    advance(tokens, state, prepared)  one step or many; training and search run the same code

A state holds R rows of hypotheses, a prepared memory B sentences; R is a multiple of B, and rows
r*K to r*K + K - 1 belong to sentence r. So the K hypotheses of a beam share one memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from torch import Tensor, nn

from models.base.types import Memory
from models.decoders.copying import Copying, JointCopying

P = TypeVar("P")  # prepared memory: a tuple of tensors, or of such tuples
S = TypeVar("S")  # state, of the same kind


class DecoderOutput(NamedTuple):
    """Results of reading some target tokens."""

    features: Tensor  # (R, T, D): the output layer's input
    state: Any  # after the last token
    weights: Tensor | None = None  # (R, T, S) attention weights, if wanted and there are any
    log_prob: Tensor | None = None  # (R, T) of the sampled slots, in training of hard attention
    entropy: Tensor | None = None  # (R, T) of the distributions they were sampled from
    gates: Tensor | None = None  # (R, T) factors on the contexts, if wanted and there are any
    heads: Tensor | None = None  # (R, L, H, T, S) every head's weights in the wanted layers
    copying: Copying | JointCopying | None = None  # if the memory contains tokens


class Decoder(nn.Module, Generic[P, S]):
    """Map from target prefix and memory to features; the output layer predicts tokens from them."""

    attends = True  # False if there are no attention weights
    attention_shape = (1, 1)  # layers that attend to the memory, and heads of each

    def prepare(self, memory: Memory) -> P:
        """Compute what depends on the source alone."""
        raise NotImplementedError

    def start(self, prepared: P) -> S:
        """Return the state before the first token."""
        raise NotImplementedError

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return what the weights of each head in the shown layer multiply, (B, H, S, V).

        None if this is unknown.
        """
        return None

    @property
    def shown_layer(self) -> int:
        """The layer, counted from 0, whose weights are shown if none is chosen by number."""
        return default_layer(self.attention_shape[0])

    def advance(
        self,
        tokens: Tensor,
        state: S,
        prepared: P,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Read tokens (R, T).

        want_weights: return the weights of the shown layer, averaged over its heads. want_heads:
        layers, counted from 0, whose heads' weights are returned, in the order of `heads`.
        """
        raise NotImplementedError


def default_layer(layers: int) -> int:
    """Return the layer, counted from 0, that is shown if there are this many.

    It is the second to last of three or more layers, where alignment is best without tuning (Garg
    et al. 2019), and the last of two, because the first attends before it has any context.
    """
    return layers - 2 if layers > 2 else layers - 1
