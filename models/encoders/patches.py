"""Patches of pixels as cells, without a network: the simplest image input for attention."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pixel_unshuffle

from models.base.errors import ConfigurationError
from models.config import ImageConfig
from models.encoders.cnn import Cnn

SIZE = 8  # default side of a patch in pixels


class Patches(Cnn):
    """Square patches of the image; pixels and position are the features. Nothing is learned.

    a_i = [the 3 p^2 values of patch i; its row; its column], positions from -1 to 1
    Source: the input of Dosovitskiy et al. 2021, section 3.1; positions as in Liu et al. 2018.
    model.image.grid is p in pixels; 8 if it is empty.
    """

    def __init__(self, config: ImageConfig) -> None:
        super().__init__()
        grid = config.grid or str(SIZE)
        self.side = int(grid) if grid.isdecimal() else 0
        if self.side < 1 or config.size % self.side:
            raise ConfigurationError(
                f"grid '{config.grid}' of patches in images of {config.size} pixels",
                "the side of a patch in pixels, a divisor of the image's side",
            )

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, 3 p p + 2, h / p, w / p) of normalised images (B, 3, h, w)."""
        pixels = pixel_unshuffle(images, self.side)
        batch, _, rows, columns = pixels.shape
        down, right = (
            torch.linspace(-1, 1, size, device=images.device, dtype=images.dtype)
            for size in (rows, columns)
        )
        places = torch.stack(torch.meshgrid(down, right, indexing="ij"))  # (2, rows, columns)
        return torch.cat([pixels, places.expand(batch, -1, -1, -1)], 1)

    def load(self, weights: str) -> None:
        """Do nothing, because there are no weights."""
