"""The dot product of query and key.

score(s, h) = s^T h                      Luong, Pham and Manning 2015, section 3.1
"""

from __future__ import annotations

from torch import Tensor

from models.attention.base import Score


class Dot(Score):
    """Dot: the plain product of query and key.

    score(s, h) = s^T h
    Source: Luong, Pham, Manning 2015, section 3.1.
    Query and key must have equal sizes; `general` serves where they have not. An encoder of both
    directions is twice as wide as its decoder, one with model.bidirectional=false is not.
    """

    needs_equal_sizes = True

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S)."""
        return query @ keys.mT
