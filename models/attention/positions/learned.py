"""A learned vector for each position, added to the embedding."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.positions.base import Position
from models.config import ModelConfig


class Learned(Position):
    """Learned: a vector for each position, added to the embedding.

    x_t = E y_t + P_min(t, N - 1)
    Source: Gehring, Auli, Grangier, Yarats, Dauphin 2017, section 3.1.
    N is model.max_source. Later positions share the last vector, which training rarely sees.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        size = config.embedding
        self.embedding = nn.Parameter(torch.randn(config.max_source, size) * size**-0.5)  # P

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        places = torch.arange(start, start + x.shape[1], device=x.device)
        return x + self.embedding[places.clamp_max(len(self.embedding) - 1)]
