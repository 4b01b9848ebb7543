"""Base class of image networks: normalised pixels to a grid of features."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from models.base.errors import DamagedError
from models.config import ImageConfig


class Cnn(nn.Module):
    """An image network without its classifier, up to one of its grids.

    Built from an ImageConfig. `config.grid` names the layer whose output is the grid; "" selects
    the last one. An image is normalised as (pixel - mean) / deviation, for pixels from 0 to 1.
    """

    mean: tuple[float, ...] = (0.5, 0.5, 0.5)  # of each channel
    deviation: tuple[float, ...] = (0.5, 0.5, 0.5)
    usual = ImageConfig()  # its size and weights suit a network that is chosen by name

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        raise NotImplementedError

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features, rows and columns of the grid: V, rows, columns.

        Computed by a network without weights. A network that knows its strides overrides this,
        because torch imports its compiler for the computation, which takes half a second.
        """
        with torch.device("meta"):
            pixels = torch.zeros(1, 3, config.size, config.size)
            _, features, rows, columns = type(self)(config).eval()(pixels).shape
        return features, rows, columns

    def load(self, weights: str) -> None:
        """Load the weights: DEFAULT, or the path of a file."""
        raise NotImplementedError


@torch.no_grad()
def copy_weights(network: nn.Module, stored: Mapping[str, Tensor], weights: str) -> None:
    """Copy stored weights into a network; others may be among them. weights: their name.

    Raises DamagedError if one is missing or has another shape.
    """
    for name, tensor in network.state_dict().items():
        if name not in stored or stored[name].shape != tensor.shape:
            raise DamagedError(
                f"weights '{weights}' without {name} of shape {tuple(tensor.shape)}",
                "the weights of model.image.encoder",
            )
        tensor.copy_(stored[name])
