"""Luong's decoder: it moves first, then reads the memory with its new state.

s_t = f(s_{t-1}, [y_{t-1}; a_{t-1}])     input feeding: a is the attentional vector
c_t = Attention(s_t, memory)
a_t = tanh(W_c [c_t; s_t])               from which the next token is said
Luong, Pham and Manning 2015, eq. 5 and section 3.3
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.config import ModelConfig
from models.decoders.base import Decoder, DecoderOutput
from models.decoders.cells import Bridge, Recurrence
from models.decoders.rnn import RnnMemory, RnnState, attend, attention_of, gathered, heads_of
from models.deferred import DeferredLinear
from models.dropout import Dropout
from models.layers import Embedding
from models.types import Memory


class LuongDecoder(Decoder):
    """Attention after the recurrence, with input feeding as an option."""

    def __init__(
        self, embedding: Embedding, config: ModelConfig, *, value_size: int, final_size: int
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.recurrence = Recurrence(config)
        self.bridge = Bridge(final_size, self.recurrence.state_shape)
        self.attention = attention_of(config, value_size)
        self.attention_shape = (1, config.attention.heads)
        gates = self.recurrence.gate_size
        self.size = config.readout or config.embedding
        self.token_gates = nn.Linear(config.embedding, gates)
        self.feed_gates = (
            DeferredLinear(self.size, gates, bias=False) if config.input_feeding else None
        )
        self.combine = DeferredLinear(value_size + config.hidden, self.size, bias=False)  # W_c
        self.dropout = Dropout(config.dropout)

    def prepare(self, memory: Memory) -> RnnMemory:
        """Keys of the memory and the first state."""
        assert memory.final is not None
        return RnnMemory(self.attention.prepare(memory), self.bridge(memory.final), None)

    def start(self, prepared: RnnMemory) -> RnnState:
        """The first state; the attentional vector starts at zero."""
        fed = prepared.start.new_zeros(prepared.start.shape[0], self.size)
        history = self.attention.begin(prepared.attention)
        return RnnState(prepared.start, None if self.feed_gates is None else fed, history)

    def advance(
        self,
        tokens: Tensor,
        state: RnnState,
        prepared: RnnMemory,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Read tokens (R, T) one by one."""
        embedded = self.dropout(self.embedding(tokens))  # (R, T, E)
        token_gates = self.token_gates(embedded).unbind(1)  # T of (R, G)
        recurrent, fed, history = state
        features, readings = [], []
        for gates in token_gates:
            if self.feed_gates is not None:
                gates = gates + self.feed_gates(fed)
            recurrent = self.recurrence(gates, recurrent)
            hidden = recurrent[:, -1, 0]
            reading = attend(self.attention, hidden, prepared.attention, history)
            context, history = reading.context, reading.history
            attentional = self.combine(torch.cat([context, hidden.to(context.dtype)], 1)).tanh()
            fed = self.dropout(attentional)
            features.append(fed)
            readings.append(reading)
        last = RnnState(recurrent, None if self.feed_gates is None else fed, history)
        return DecoderOutput(
            torch.stack(features, 1),
            last,
            *gathered(readings, want_weights=want_weights),
            heads=heads_of(readings) if want_heads else None,
        )
