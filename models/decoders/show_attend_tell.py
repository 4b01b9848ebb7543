"""The decoder of Show, Attend and Tell: an LSTM that looks before it moves.

h_0, c_0 = f_init,h(mean a), f_init,c(mean a)
z_t = beta_t Attention(h_{t-1}, a),  beta_t = sigmoid(f_beta(h_{t-1}))     beta_t is one number
h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t))
Source: Xu et al. 2015, sections 3.1.2, 4.2.1; f_init are tanh(W a), as in the paper's own program.
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
from models.errors import ModelError
from models.layers import Embedding
from models.types import Memory


class ShowAttendTellDecoder(Decoder):
    """Attention before the recurrence, a gate on what was read, and a deep output."""

    def __init__(self, embedding: Embedding, config: ModelConfig, *, value_size: int) -> None:
        super().__init__()
        if config.readout not in (0, config.embedding):
            raise ModelError(
                f"a readout of {config.readout} beside embeddings of {config.embedding}",
                "equal sizes: the captioner's output adds one to the other",
                "leave model.readout at 0",
            )
        size = config.embedding
        self.embedding = embedding
        self.recurrence = Recurrence(config)
        self.bridge = Bridge(value_size, self.recurrence.state_shape)  # f_init,h and f_init,c
        self.attention = attention_of(config, value_size)
        self.attention_shape = (1, config.attention.heads)
        self.gate = nn.Linear(config.hidden, 1) if config.gate else None  # f_beta
        self.token_gates = nn.Linear(size, self.recurrence.gate_size)
        self.context_gates = DeferredLinear(value_size, self.recurrence.gate_size, bias=False)
        self.state_out = nn.Linear(config.hidden, size)  # L_h
        self.context_out = nn.Linear(value_size, size, bias=False)  # L_z
        self.dropout = Dropout(config.dropout)

    def prepare(self, memory: Memory) -> RnnMemory:
        """Keys of the cells, and the first state."""
        assert memory.final is not None
        return RnnMemory(self.attention.prepare(memory), self.bridge(memory.final), None)

    def start(self, prepared: RnnMemory) -> RnnState:
        """h_0 and c_0 of every image."""
        return RnnState(prepared.start, history=self.attention.begin(prepared.attention))

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
        recurrent, history = state.recurrent, state.history
        states, contexts, gates, readings = [], [], [], []
        for token in token_gates:
            query = recurrent[:, -1, 0]  # (R, H)
            reading = attend(self.attention, query, prepared.attention, history)
            context, history = reading.context, reading.history
            if self.gate is not None:
                gates.append(self.gate(query).sigmoid())  # (R, 1)
                context = gates[-1].to(context.dtype) * context
            recurrent = self.recurrence(token + self.context_gates(context), recurrent)
            states.append(recurrent[:, -1, 0])
            contexts.append(context)
            readings.append(reading)
        features = self.deep_output(embedded, torch.stack(states, 1), torch.stack(contexts, 1))
        return DecoderOutput(
            features,
            RnnState(recurrent, history=history),
            *gathered(readings, want_weights=want_weights),
            gates=torch.cat(gates, 1) if gates and want_weights else None,
            heads=heads_of(readings) if want_heads else None,
        )

    def deep_output(self, embedded: Tensor, states: Tensor, contexts: Tensor) -> Tensor:
        """E y + L_h h + L_z z: (R, T, E)."""
        return self.dropout(
            embedded + self.state_out(self.dropout(states)) + self.context_out(contexts)
        )
