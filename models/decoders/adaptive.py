"""Adaptive decoder of captions: a step attends to cells of the image, or to a sentinel, its memory.

h_t, m_t = LSTM([E y_{t-1}; g], h_{t-1}, m_{t-1});  v_i = ReLU(W_a a_i),  g = ReLU(W_b mean a)
s_t = sigmoid(W_x [E y_{t-1}; g] + W_h h_{t-1}) * tanh(m_t)               the visual sentinel
weights, beta = softmax([F(h_t, v_1), .., F(h_t, v_S), F(h_t, W_s s_t)])
p(y_t) = softmax(W (sum_i weights_i v_i + beta s_t + h_t))
Lu, Xiong, Parikh and Socher 2017, eq. 6 to 13
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from models.attention.base import Attention, is_monotonic
from models.base.errors import ConfigurationError
from models.base.registry import find
from models.base.types import Memory
from models.config import RECURRENT_SCORE, ModelConfig
from models.decoders.recurrent import (
    RecurrentDecoder,
    RecurrentMemory,
    RecurrentState,
    RecurrentStep,
)
from models.layers import Embedding
from models.numerics.linear import Linear


class AdaptiveDecoder(RecurrentDecoder):
    """Attention after the recurrence, to cells and to the visual sentinel."""

    def __init__(self, embedding: Embedding, config: ModelConfig, *, value_size: int) -> None:
        check_sentinel(config)
        size, attention = config.hidden, replace(config.attention, null_slot=True)
        with_null = replace(config, attention=attention)
        super().__init__(embedding, with_null, value_size=size, final_size=value_size)
        gates = self.recurrence.gate_size + size  # of the LSTM and of the sentinel
        self.cells = Linear(value_size, size)  # W_a
        self.image = Linear(value_size, config.embedding)  # W_b
        self.token_gates = Linear(config.embedding, gates)
        self.image_gates = Linear(config.embedding, gates, bias=False)
        self.state_gate = Linear(size, size, bias=False)  # W_h
        self.sentinel_key = Linear(size, size, bias=False)  # W_s

    def prepare(self, memory: Memory) -> RecurrentMemory:
        """Compute cells, keys, the first state, and the part of the gates that the image has."""
        prepared = super().prepare(memory._replace(values=self.cells(memory.values).relu()))
        return prepared._replace(context=self.image_gates(self.image(memory.final).relu()))

    def step(
        self, gates: Tensor, state: RecurrentState, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Compute h_t and the sentinel, then read cells and sentinel with h_t."""
        assert prepared.context is not None
        image = prepared.context.repeat_interleave(len(gates) // len(prepared.context), 0)
        size = self.sentinel_key.weight.shape[0]
        inner, own = (gates + image).split([self.recurrence.gate_size, size], 1)
        recurrent = self.recurrence(inner, state.recurrent)
        gate = (own + self.state_gate(state.hidden)).float().sigmoid()  # (R, H)
        sentinel = gate * recurrent[:, -1, 1].tanh()
        moved = RecurrentState(recurrent, history=state.history)
        return self._adapted(moved, sentinel, prepared)

    def _adapted(
        self, state: RecurrentState, sentinel: Tensor, prepared: RecurrentMemory
    ) -> RecurrentStep:
        """Read cells and sentinel (R, H) with the new state."""
        assert isinstance(self.attention, Attention) and prepared.attention is not None
        query, score = state.hidden, self.attention.score
        key = score.prepare(self.sentinel_key(sentinel).unsqueeze(1))  # (R, 1, K)
        sentences = prepared.attention.mask.shape[0]
        scores = score(query.unsqueeze(1), key).view(sentences, -1, 1)
        queries = query.unflatten(0, (sentences, -1))  # (B, K, H)
        read = self.attention(queries, prepared.attention, state.history, scores).rows()
        share = read.weights.sum(1, keepdim=True)  # (R, 1): 1 - beta
        context = read.context + ((1 - share) * sentinel).to(read.context.dtype)
        after = state._replace(history=read.history)
        return RecurrentStep(after, after.hidden, context, read, share)

    def features(self, embedded: Tensor, steps: list[RecurrentStep]) -> Tensor:
        """Return the sums of context and state (R, T, H)."""
        both = torch.stack([step.context + step.hidden for step in steps], 1)
        return self.dropout(both)


def check_sentinel(config: ModelConfig) -> None:
    """Raise ConfigurationError for a cell or an attention that has no place for the sentinel.

    It is a gate on the memory of an LSTM, and shares one softmax with the cells.
    """
    attention = config.attention
    score = find("score", attention.score or RECURRENT_SCORE)
    by_key = score.uses_keys and not (score.sequential or attention.coverage)
    needed = {
        "model.cell=lstm": config.cell == "lstm",
        "model.attention.heads=1": attention.heads == 1,
        "model.attention.normalise=softmax": not is_monotonic(attention),
        "model.attention.score=additive, or another of query and key alone": by_key,
    }
    for setting, is_set in needed.items():
        if not is_set:
            raise ConfigurationError("another setting with a visual sentinel", setting)
