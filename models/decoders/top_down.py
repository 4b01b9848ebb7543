"""Top-down decoder of captions: one recurrent layer attends, the next one writes the words.

h1_t = LSTM_1([h2_{t-1}; mean a; E y_{t-1}], h1_{t-1})
z_t  = Attention(h1_t, a)
h2_t = LSTM_2([z_t; h1_t], h2_{t-1});  p(y_t) = softmax(W h2_t + b)
Anderson, He, Buehler, Teney, Johnson, Gould and Zhang 2018, section 3.2, eq. 1 to 7
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.base.errors import ConfigurationError
from models.base.types import Memory
from models.config import ModelConfig
from models.decoders.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)
from models.layers import Embedding
from models.numerics.linear import Linear

LAYERS = 2  # one that attends, one that writes


class TopDownDecoder(RecurrentDecoder):
    """Attention between two recurrent layers; the first reads the last state of the second."""

    def __init__(self, embedding: Embedding, config: ModelConfig, *, value_size: int) -> None:
        if config.decoder_layers != LAYERS:
            raise ConfigurationError(
                f"model.decoder_layers = {config.decoder_layers} for top-down attention",
                "2 layers: one that attends and one that writes",
                "set model.decoder_layers=2",
            )
        super().__init__(embedding, config, value_size=value_size, final_size=value_size)
        gates = self.recurrence.gate_size
        self.token_gates = Linear(config.embedding, gates)
        self.mean_gates = Linear(value_size, gates, bias=False)
        self.feed_gates = Linear(config.hidden, gates, bias=False)
        self.context_gates = Linear(value_size, gates, bias=False)

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute the keys, the first state, and the part of the gates that the mean cell has."""
        prepared = super().prepare(memory)
        return prepared._replace(context=self.mean_gates(memory.final))

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute h1_t, read with it, then compute h2_t."""
        assert prepared.context is not None
        first, second = self.recurrence.cells
        own = prepared.context.repeat_interleave(len(gates) // len(prepared.context), 0)  # (R, G)
        gates = gates + own + self.feed_gates(state.hidden)
        attending = first(gates, state.recurrent[:, 0])
        query = attending[:, 0]  # (R, H)
        read = self.read(query, state, prepared)
        [inputs] = self.recurrence.inputs
        gates = inputs(self.recurrence.dropout(query)) + self.context_gates(read.context)
        writing = second(gates, state.recurrent[:, 1])
        after = RecurrentState(torch.stack([attending, writing], 1), history=read.history)
        return RecurrentStep(after, after.hidden, read.context, read)

    def features(self, token_part: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the states h2 (R, T, H)."""
        return self.dropout(torch.stack([step.hidden for step in steps], 1))
