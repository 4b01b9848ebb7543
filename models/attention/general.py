"""A learned bilinear form of query and key.

score(s, h) = s^T W h                    Luong, Pham and Manning 2015, section 3.1
"""

from __future__ import annotations

from torch import Tensor

from models.attention.base import Score
from models.config import AttentionConfig
from models.numerics.linear import Linear


class General(Score):
    """General: a learned matrix between query and key.

    score(s, h) = s^T W h
    Source: Luong, Pham, Manning 2015, section 3.1.
    W h is computed once per source.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.key = Linear(key_size, query_size, bias=False)  # W

    def prepare(self, values: Tensor) -> Tensor:
        """Compute W h of every slot (B, S, Q)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return query @ keys.mT
