"""The decoder of Show, Attend and Tell: an LSTM that reads the image before each step.

h_0, c_0 = f_init,h(mean a), f_init,c(mean a)
z_t = beta_t Attention(h_{t-1}, a),  beta_t = sigmoid(f_beta(h_{t-1}))     beta_t is one number
h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t))
Source: Xu et al. 2015, sections 3.1.2, 4.2.1; f_init are tanh(W a), as in the paper's own program.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.config import ModelConfig
from models.decoders.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)
from models.layers import Embedding
from models.numerics.linear import Linear


class ShowAttendTellDecoder(RecurrentDecoder):
    """Attention before the recurrence, a gate on the context, and a deep output."""

    def __init__(self, embedding: Embedding, config: ModelConfig, *, value_size: int) -> None:
        if config.readout not in (0, config.embedding):
            raise ConfigurationError(
                f"model.readout = {config.readout} with embeddings of {config.embedding}",
                "equal sizes, because the captioner's deep output adds the two",
                "set model.readout=0",
            )
        # the bridge is f_init,h and f_init,c
        super().__init__(embedding, config, value_size=value_size, final_size=value_size)
        size = config.embedding
        self.gate = Linear(config.hidden, 1)  # f_beta
        self.token_gates = Linear(config.embedding, self.recurrence.gate_size)
        self.context_gates = Linear(value_size, self.recurrence.gate_size, bias=False)
        self.state_out = Linear(config.hidden, size)  # L_h
        self.context_out = Linear(value_size, size, bias=False)  # L_z

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read with h_{t-1}, weight the context by its gate, then compute h_t."""
        query = state.hidden  # (R, H)
        read = self.read(query, state, prepared)
        factor = self.gate(query).sigmoid()  # (R, 1)
        context = factor.to(read.context.dtype) * read.context
        recurrent = self.recurrence(gates + self.context_gates(context), state.recurrent)
        after = RecurrentState(recurrent, history=read.history)
        return RecurrentStep(after, after.hidden, context, read, factor)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Compute E y + L_h h + L_z z: (R, T, E)."""
        states = torch.stack([step.hidden for step in steps], 1)
        contexts = torch.stack([step.context for step in steps], 1)
        return self.dropout(
            token_part + self.state_out(self.dropout(states)) + self.context_out(contexts)
        )
