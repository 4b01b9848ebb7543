"""Additive attention with the previous weights as a feature.

score(s, h_i) = v^T tanh(W s + U h_i + M f_i),  f = F * previous weights
                                         Chorowski et al. 2015
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.additive import Additive
from models.attention.base import History
from models.config import AttentionConfig
from models.numerics.linear import Linear
from models.numerics.pair_energy import additive_energy

FILTERS = 10  # of the convolution
WIDTH = 15  # of a filter, in slots


class LocationAware(Additive):
    """Location-aware (Chorowski): additive, with the previous weights convolved.

    score(s, h_i) = v^T tanh(W s + U h_i + M f_i + b);  f = F * weights_{t-1}
    Source: Chorowski, Bahdanau, Serdyuk, Cho, Bengio 2015.
    Options: size, coverage.
    The previous weights are part of the decoder's state; before the first step they are uniform.
    """

    sequential = True

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        self.needs_history = True
        self.convolution = nn.Conv1d(1, FILTERS, WIDTH, padding=WIDTH // 2, bias=False)  # F
        self.feature = Linear(FILTERS, self.energy.shape[0], bias=False)  # M

    def forward(self, query: Tensor, keys: Tensor, history: History | None = None) -> Tensor:
        """Compute scores (B, T, S)."""
        assert history is not None
        features = self.convolved(history.previous)
        matrix = self.feature.weight
        if self.coverage is not None:
            features = torch.cat([features, history.total.unsqueeze(-1)], -1)
            matrix = torch.cat([matrix, self.coverage], 1)
        return additive_energy(self.query(query), keys, self.energy, features, matrix)

    def convolved(self, weights: Tensor) -> Tensor:
        """Compute features (B, T, S, F) by convolving weights (B, T, S)."""
        signals = self.convolution(weights.flatten(0, 1).unsqueeze(1))  # (B * T, F, S)
        return signals.mT.unflatten(0, weights.shape[:2])
