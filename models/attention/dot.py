"""The dot product of query and key.

score(s, h) = s^T h                      Luong, Pham and Manning 2015, eq. 8
"""

from __future__ import annotations

from torch import Tensor

from models.attention.base import Score
from models.config import AttentionConfig
from models.errors import ModelError


class Dot(Score):
    """Dot: the plain product of query and key.

    score(s, h) = s^T h
    Source: Luong, Pham, Manning 2015, eq. 8.
    Query and key must have equal sizes; `general` serves where they have not. An encoder of both
    directions is twice as wide as its decoder, one with model.bidirectional=false is not.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        if query_size != key_size:
            raise ModelError(
                f"score '{config.score}' with a query of {query_size} and keys of {key_size}",
                "equal sizes",
                "use score 'general', 2 heads or more (which project both), or make the decoder as "
                "wide as the encoder's output (model.bidirectional=false)",
            )

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S)."""
        return query @ keys.mT
