"""Attention with the encoder's final state as the query: the classic Bi-LSTM with attention.

c = Attention([->h_S; <-h_1], h)
"""

from __future__ import annotations

from torch import Tensor

from models.attention.heads import attention, read_values
from models.base.types import AttentionOutput, Memory
from models.config import ModelConfig
from models.pooling.base import Pooling, final_state


class FinalState(Pooling):
    """Final state as the query: the summary of a text selects the words that matter.

    c = Attention([->h_S; <-h_1], h);  with score dot  softmax(H^T [->h_S; <-h_1])
    Source: Zhou, Shi, Tian, Qi, Li, Hao, Xu 2016.
    The query of the paper is learned. Without recurrence, the last slot is the query.
    Every score, window, normaliser, read and number of heads of model.attention can be used.
    """

    def __init__(self, value_size: int, config: ModelConfig) -> None:
        super().__init__(value_size, config)
        self.attention = attention(value_size, value_size, config.attention)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        return read_values(self.attention, memory)

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        query = final_state(memory).unsqueeze(1)  # (B, 1, V)
        return self.attention(query, self.attention.prepare(memory))._replace(history=None)
