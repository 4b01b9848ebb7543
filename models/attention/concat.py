"""Luong's concat score: additive attention, with W split over query and key.

score(s, h) = v^T tanh(W [s; h])         Luong, Pham and Manning 2015, section 3.1
"""

from __future__ import annotations

from models.attention.additive import Additive
from models.config import AttentionConfig
from models.numerics.linear import Linear


class Concat(Additive):
    """Concat (Luong): a hidden layer over query and key, side by side.

    score(s, h) = v^T tanh(W [s; h])
    Source: Luong, Pham, Manning 2015, section 3.1.
    Options: size, coverage.
    W [s; h] = W_s s + W_h h, so that W_h h is computed once per source; there is no bias.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.key = Linear(key_size, self.key.out_features, bias=False)
