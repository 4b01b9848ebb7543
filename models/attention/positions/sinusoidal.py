"""Sines and cosines of the position, added to the embeddings."""

from __future__ import annotations

from torch import Tensor

from models.attention.positions.base import Position
from models.config import ModelConfig
from models.layers import positions


class Sinusoidal(Position):
    """Sinusoidal: sines and cosines of the position, added to the embedding.

    x_t = E y_t + [sin(t / 10000^(i / (D/2 - 1))); cos(..)]
    Source: Vaswani et al. 2017, section 3.5, with the rates of tensor2tensor.
    The first token has the position model.position_offset.
    """

    as_printed = False

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.offset = config.position_offset

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        code = positions(
            start + self.offset, x.shape[1], x.shape[2], x.device, as_printed=self.as_printed
        )
        return x + code


class Sinusoidal2017(Sinusoidal):
    """Sinusoidal with the rates that the paper prints, as Marian computes them.

    x_t = E y_t + [sin(t / 10000^(2i / D)); cos(..)]
    Source: Vaswani et al. 2017, section 3.5.
    """

    as_printed = True
