"""Base class of image networks: normalised pixels to a grid of features."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from models.errors import ConfigurationError


class Normalisation(NamedTuple):
    """(pixel - mean) / deviation of each channel, for pixels from 0 to 1."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


class Cnn(nn.Module):
    """An image network without its classifier, up to one of its grids.

    Built from an ImageConfig. `config.grid` names the layer whose output is the grid; "" selects
    the last one.
    """

    normalisation: Normalisation
    pretrained = True  # False if there are no weights to load

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        raise NotImplementedError

    def load(self, weights: str) -> None:
        """Load the weights: DEFAULT, or the path of a file."""
        raise NotImplementedError


def needs_file(encoder: str, what: str) -> ConfigurationError:
    """Return the error for an encoder whose weights must be given by path."""
    return ConfigurationError(
        f"image encoder {encoder} without weights",
        what,
        "give it with --encoder-weights PATH (model.image.weights)",
    )
