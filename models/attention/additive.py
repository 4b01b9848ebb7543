"""Additive attention: one hidden layer over query and key together.

score(s, h) = v^T tanh(W s + U h)        Bahdanau, Cho and Bengio 2015, A.1.2
              v^T tanh(W s + U h + C c)  with coverage c, the sum of the slot's weights so far:
                                         Tu et al. 2016, section 3, with a fertility of 1
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.base import History, Score
from models.config import AttentionConfig
from models.numerics.linear import Linear
from models.numerics.pair_energy import additive_energy


class Additive(Score):
    """Additive (Bahdanau): a hidden layer over query and key.

    score(s, h) = v^T tanh(W s + U h)
    Source: Bahdanau, Cho, Bengio 2015, A.1.2.
    Options: size, coverage.
    U h is computed once per source.
    """

    supports_coverage = True

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = Linear(query_size, size, bias=False)  # W
        self.key = Linear(key_size, size)  # U
        self.energy = _uniform(size)  # v
        self.needs_history = config.coverage
        self.sequential = self.sequential or config.coverage
        self.coverage = _uniform(size, 1) if config.coverage else None  # C

    def prepare(self, values: Tensor) -> Tensor:
        """Compute U h of every slot (B, S, A)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor, history: History | None = None) -> Tensor:
        """Compute scores (B, T, S)."""
        if history is None or self.coverage is None:
            return additive_energy(self.query(query), keys, self.energy)
        total = history.total.unsqueeze(-1)  # (B, T, S, 1)
        return additive_energy(self.query(query), keys, self.energy, total, self.coverage)


def _uniform(*shape: int) -> nn.Parameter:
    bound = shape[0] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))
