"""Sines and cosines of the position, added to the embeddings."""

from __future__ import annotations

from torch import Tensor

from models.attention.positions.base import Position
from models.layers import positions


class Sinusoidal(Position):
    """Sinusoidal: sines and cosines of the position, added to the embedding.

    x_t = E y_t + [sin(t / 10000^(i / (D/2 - 1))); cos(..)]
    Source: Vaswani et al. 2017, section 3.5.
    """

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        return x + positions(start, x.shape[1], x.shape[2], x.device)
