"""The general form: a feed-forward network over query and key, one slot at a time.

score(s, h) = v^T tanh(W_2 tanh(W_1 [s; h] + b_1) + b_2)
"""

from __future__ import annotations

from torch import Tensor, nn

from models.attention.base import Score
from models.config import AttentionConfig
from models.numerics.linear import Linear
from models.numerics.pair_energy import feed_forward_energy


class FeedForwardScore(Score):
    """Feed-forward (general form): a network of two hidden layers over query and key.

    score(s, h) = v^T tanh(W_2 tanh(W_1 [s; h] + b_1) + b_2)
    Source: Bahdanau, Cho, Bengio 2015, section 3.1.
    Options: size.
    With one hidden layer it is `concat` with a bias. W_1 is split over query and key, so that its
    key half is computed once per source; the second layer costs T * S products.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = Linear(query_size, size, bias=False)  # W_1, left half
        self.key = Linear(key_size, size)  # W_1, right half, and b_1
        self.layers = nn.ModuleList([Linear(size, size)])  # W_2, b_2
        self.energy = Linear(size, 1, bias=False)  # v

    def prepare(self, values: Tensor) -> Tensor:
        """Compute the keys' part of the first layer (B, S, A)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        weight, bias = self.layers.parameters()
        energy = self.energy.weight.squeeze(0)
        return feed_forward_energy(self.query(query), keys, energy, weight, bias)
