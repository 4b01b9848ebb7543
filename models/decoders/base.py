"""What every decoder can do, and what it hands back.

    prepare(memory) -> prepared       once per source: keys, values, whatever depends on it alone
    start(prepared) -> State          one row per sentence
    advance(tokens, state, prepared)  one step or many; the same code trains and searches

A state holds R rows of hypotheses, a prepared memory B sentences; R is a multiple of B, and rows
r*K to r*K + K - 1 belong to sentence r. So a beam of K hypotheses shares one memory, and asks it
K questions at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from torch import Tensor, nn

from models.types import Memory


class Selectable(Protocol):
    """A NamedTuple of tensors whose rows can be picked and reordered: all that search asks."""

    def select(self, rows: Tensor) -> Any:
        """The rows, in the order given."""


class DecoderOutput(NamedTuple):
    """What a decoder knows after reading some target tokens."""

    features: Tensor  # (R, T, D): the output layer's input
    state: Any
    weights: Tensor | None  # (R, T, S) of the attention, where asked for and there is one
    log_prob: Tensor | None = None  # (R, T) of the slots drawn, while training hard attention
    entropy: Tensor | None = None  # (R, T) of what they were drawn from
    gates: Tensor | None = None  # (R, T) on what was read, where there are any; with the weights
    heads: Tensor | None = None  # (R, L, H, T, S) every head's weights in the layers asked for


class Decoder(nn.Module):
    """Reads a target prefix and a memory; leaves features from which the next token is said."""

    attends = True  # whether it has weights to show
    attention_shape = (1, 1)  # layers that attend to the memory, and heads of each

    def prepare(self, memory: Memory) -> Any:
        """What depends on the source alone, with `.select(sentences)`."""
        raise NotImplementedError

    def start(self, prepared: Any) -> Any:
        """The state before the first token, with `.select(rows)`."""
        raise NotImplementedError

    @property
    def shown_layer(self) -> int:
        """The layer, from 0, whose weights are shown where none is asked for by number.

        The last but one, where alignment is best without tuning (Garg et al. 2019); the last of
        two, since the first looks around before anything is known.
        """
        layers = self.attention_shape[0]
        return layers - 2 if layers > 2 else layers - 1

    def advance(
        self,
        tokens: Tensor,
        state: Any,
        prepared: Any,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Read tokens (R, T).

        want_weights: those of the shown layer, its heads averaged. want_heads: layers, from 0, in
        the order in which `heads` is to hold them.
        """
        raise NotImplementedError
