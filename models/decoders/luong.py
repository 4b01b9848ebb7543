"""Luong's decoder: the recurrence comes first, then attention with the new state.

s_t = f(s_{t-1}, [y_{t-1}; a_{t-1}])     input feeding: a is the attentional vector
c_t = Attention(s_t, memory)
a_t = tanh(W_c [c_t; s_t])               the output layer's input
Luong, Pham and Manning 2015, eq. 5 and section 3.3
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.config import ModelConfig
from models.decoders.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)
from models.layers import Embedding
from models.numerics.linear import Linear


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
