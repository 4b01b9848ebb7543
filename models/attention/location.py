"""Location score: one logit per source position, from the query alone.

score(s, h_i) = (W s)_i                  Luong, Pham and Manning 2015, eq. 8
"""

from __future__ import annotations

from torch import Tensor, nn

from models.attention.base import Score
from models.base.errors import InputError
from models.config import AttentionConfig
from models.numerics.linear import Linear


class Location(Score):
    """Location (Luong): one logit per position, independent of the slot's content.

    score(s, h_i) = (W s)_i
    Source: Luong, Pham, Manning 2015, eq. 8.
    Options: positions.
    It does not use the keys. W has one row per position, which limits the length of a source;
    a longer source raises InputError.
    """

    uses_keys = False

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.max_slots = config.positions
        self.logits = Linear(query_size, self.max_slots, bias=False)  # W

    def prepare(self, values: Tensor) -> Tensor:
        """Return keys without features (B, S, 0), which only carry the number of slots."""
        if values.shape[1] > self.logits.out_features:
            raise InputError(
                f"a source of {values.shape[1]} slots",
                f"at most {self.logits.out_features}, the positions of score 'location'",
                "shorten it, or train with a larger model.attention.positions",
            )
        return values[..., :0]

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        return nn.functional.linear(query, self.logits.weight[: keys.shape[1]])
