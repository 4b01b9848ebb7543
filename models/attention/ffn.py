"""The general form: a feed-forward network over query and key, one slot at a time.

score(s, h) = v^T tanh(W_n .. tanh(W_1 [s; h] + b_1) .. + b_n)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from models.attention.base import Score
from models.config import AttentionConfig
from models.deferred import DeferredLinear
from models.linear import Linear

CHUNK_ELEMENTS = 2**20  # hidden units computed at a time: 4 MB in fp32


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
        query = self.query(query)  # (B, T, A)
        at_once = max(1, CHUNK_ELEMENTS // max(1, keys.numel()))
        parts = [self._recomputed(part, keys) for part in query.split(at_once, 1)]
        return torch.cat(parts, 1)

    def _recomputed(self, query: Tensor, keys: Tensor) -> Tensor:
        if not torch.is_grad_enabled():
            return self.scores(query, keys)
        scores: Tensor = checkpoint(
            self.scores, query, keys, use_reentrant=False, preserve_rng_state=False
        )
        return scores

    def scores(self, query: Tensor, keys: Tensor) -> Tensor:
        """Compute scores (B, T, S) of mapped queries (B, T, A) and keys (B, S, A)."""
        hidden = (query.unsqueeze(2) + keys.unsqueeze(1)).tanh()  # (B, T, S, A)
        for layer in self.layers:
            hidden = layer(hidden).tanh()
        scores: Tensor = self.energy(hidden).squeeze(-1)
        return scores
