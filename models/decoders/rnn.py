"""Recurrent decoders of texts."""

from __future__ import annotations

import torch
from torch import Tensor

from models.base.types import AttentionOutput, Memory
from models.config import ModelConfig
from models.decoders.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)
from models.layers import Embedding
from models.numerics import Linear


class RnnDecoder(RecurrentDecoder):
    """Attention before the recurrence, and a deep output."""

    def __init__(
        self,
        embedding: Embedding,
        config: ModelConfig,
        *,
        value_size: int,
        final_size: int,
        attends: bool = True,
    ) -> None:
        super().__init__(
            embedding, config, value_size=value_size, final_size=final_size, attends=attends
        )
        context_size = value_size if attends else final_size
        gates, readout = self.recurrence.gate_size, config.readout or config.embedding
        self.token_gates = Linear(config.embedding, gates)
        self.context_gates = Linear(context_size, gates, bias=False)
        self.token_out = Linear(config.embedding, 2 * readout)
        self.state_out = Linear(config.hidden, 2 * readout, bias=False)
        self.context_out = Linear(context_size, 2 * readout, bias=False)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read with s_{t-1}, then compute s_t."""
        read = self.read(state.hidden, state, prepared)
        context = read.context  # (R, V)
        return self.moved(gates + self.context_gates(context), state, context, read)

    def moved(
        self, gates: Tensor, state: RecurrentState, context: Tensor, read: AttentionOutput | None
    ) -> RecurrentStep:
        """Compute s_t from its input gates (R, G) and s_{t-1}."""
        recurrent = self.recurrence(gates, state.recurrent)
        after = RecurrentState(recurrent, history=None if read is None else read.history)
        return RecurrentStep(after, after.hidden, context, read)

    def output_part(self, embedded: Tensor) -> Tensor:
        """Return the tokens' part of the maxout's input, (R, T, 2 * readout)."""
        return self.token_out(embedded)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Compute the maxout over y, s and c: (R, T, readout)."""
        states = torch.stack([step.hidden for step in steps], 1)
        contexts = torch.stack([step.context for step in steps], 1)
        mixed = token_part + self.state_out(states) + self.context_out(contexts)
        return self.dropout(mixed.unflatten(-1, (-1, 2)).amax(-1))


class FixedContextDecoder(RnnDecoder):
    """RnnDecoder without attention: every step has the encoder's last state as context."""

    def __init__(self, embedding: Embedding, config: ModelConfig, *, final_size: int) -> None:
        super().__init__(
            embedding, config, value_size=final_size, final_size=final_size, attends=False
        )

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute the first state; store the context."""
        assert memory.final is not None
        final = memory.final[:, -self.final_size :]
        return RecurrentMemory(None, self.bridge(final), final)

    def start(self, prepared: RecurrentMemory) -> RecurrentState:
        """Return s_0 of every sentence."""
        return RecurrentState(prepared.start)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute s_t with the fixed context."""
        assert prepared.context is not None
        copies = state.recurrent.shape[0] // prepared.context.shape[0]
        context = prepared.context.repeat_interleave(copies, 0)
        return self.moved(gates + self.context_gates(context), state, context, None)


# Luong's decoder: the recurrence comes first, then attention with the new state.
#
# s_t = f(s_{t-1}, [y_{t-1}; a_{t-1}])     input feeding: a is the attentional vector
# c_t = Attention(s_t, memory)
# a_t = tanh(W_c [c_t; s_t])               the output layer's input
# Luong, Pham and Manning 2015, eq. 5 and section 3.3


class LuongDecoder(RecurrentDecoder):
    """Attention after the recurrence; input feeding is optional."""

    def __init__(
        self, embedding: Embedding, config: ModelConfig, *, value_size: int, final_size: int
    ) -> None:
        super().__init__(embedding, config, value_size=value_size, final_size=final_size)
        gates = self.recurrence.gate_size
        self.size = config.readout or config.embedding
        self.token_gates = Linear(config.embedding, gates)
        self.feed_gates = Linear(self.size, gates, bias=False) if config.input_feeding else None
        self.combine = Linear(value_size + config.hidden, self.size, bias=False)  # W_c

    def start(self, prepared: RecurrentMemory) -> RecurrentState:
        """Return the first state; the attentional vector starts at zero."""
        state = super().start(prepared)
        if self.feed_gates is None:
            return state
        first = prepared.start.new_zeros(prepared.start.shape[0], self.size)
        return state._replace(attentional=first)

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute s_t, read with it, and combine both into a_t."""
        if self.feed_gates is not None:
            gates = gates + self.feed_gates(state.attentional)
        moved = state._replace(recurrent=self.recurrence(gates, state.recurrent))
        hidden = moved.hidden  # (R, H)
        read = self.read(hidden, moved, prepared)
        both = torch.cat([read.context, hidden.to(read.context.dtype)], 1)
        attentional = self.dropout(self.combine(both).tanh())  # (R, D)
        fed = None if self.feed_gates is None else attentional
        after = RecurrentState(moved.recurrent, fed, read.history)
        return RecurrentStep(after, attentional, read.context, read)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the attentional vectors (R, T, D)."""
        return torch.stack([step.hidden for step in steps], 1)
