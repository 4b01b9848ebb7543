"""The general form: a feed-forward network over query and key, one slot at a time.

score(s, h) = v^T tanh(W_n .. tanh(W_1 [s; h] + b_1) .. + b_n)
"""

from __future__ import annotations

from torch import Tensor, nn

from models.attention.base import Score
from models.config.tables import AttentionConfig
from models.numerics.deferred import DeferredLinear
from models.numerics.ffn_energy import FeedForwardEnergy
from models.numerics.linear import Linear


class FeedForwardScore(Score):
    """Feed-forward (general form): a network of any depth over query and key.

    score(s, h) = v^T tanh(W_n .. tanh(W_1 [s; h] + b_1) .. + b_n)
    Source: Bahdanau, Cho, Bengio 2015, section 3.1.
    Options: size, depth.
    With a depth of 1 it is `concat` with a bias. W_1 is split over query and key, so that its key
    half is computed once per source; the layers above it cost T * S products each, and are
    computed again in the backward pass instead of being stored.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = DeferredLinear(query_size, size, bias=False)  # W_1, left half
        self.key = Linear(key_size, size)  # W_1, right half, and b_1
        self.layers = nn.ModuleList(Linear(size, size) for _ in range(config.depth - 1))
        self.energy = Linear(size, 1, bias=False)  # v

    def prepare(self, values: Tensor) -> Tensor:
        """Compute the keys' part of the first layer (B, S, A)."""
        keys: Tensor = self.key(values)
        return keys

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S)."""
        layers = [part for layer in self.layers for part in (layer.weight, layer.bias)]
        mapped, energy = self.query(query), self.energy.weight.squeeze(0)
        scores: Tensor = FeedForwardEnergy.apply(mapped, keys, energy, *layers)  # type: ignore[no-untyped-call]
        return scores
