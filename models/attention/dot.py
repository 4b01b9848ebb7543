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
    Query and key must have equal sizes; use `general` where they differ. The two directions of a
    bidirectional encoder therefore have half of model.hidden each with this score.
    """

    needs_equal_sizes = is_product = True

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return query @ keys.mT
