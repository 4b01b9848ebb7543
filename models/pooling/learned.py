"""Attention with a learned query.

c = Attention(q, h),  q a parameter of the model
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.heads import attention, read_values
from models.base.types import AttentionOutput, Memory
from models.config import ModelConfig
from models.pooling.base import Pooling


class LearnedQuery(Pooling):
    """Learned query: attention whose query is a parameter, equal for every text.

    c = Attention(q, h);  with score additive  v^T tanh(W q + U h + b)
    Source: Yang, Yang, Dyer, He, Smola, Hovy 2016, section 2.2.
    Every score, window, normaliser, read and number of heads of model.attention can be used.
    """

    def __init__(self, value_size: int, config: ModelConfig) -> None:
        super().__init__(value_size, config)
        self.query = nn.Parameter(torch.randn(1, 1, value_size) * value_size**-0.5)
        self.attention = attention(value_size, value_size, config.attention)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        return read_values(self.attention, memory)

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        query = self.query.expand(memory.mask.shape[0], -1, -1)  # (B, 1, V)
        return self.attention(query, self.attention.prepare(memory))._replace(history=None)
