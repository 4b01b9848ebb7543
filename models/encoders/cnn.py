"""What every image network can do: normalised pixels to a grid of features."""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn

from models.errors import ModelError


class Normalisation(NamedTuple):
    """(pixel - mean) / deviation of each channel, for pixels from 0 to 1."""

    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]


class Cnn(nn.Module):
    """An image network without its classifier, up to one of its grids.

    Built from an ImageConfig; `config.grid` names the layer whose output is the grid, "" its last.
    """

    normalisation: Normalisation
    pretrained = True  # whether there are weights to read

    def forward(self, images: Tensor) -> Tensor:
        """The grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        raise NotImplementedError

    def load(self, weights: str) -> None:
        """Fill the weights: DEFAULT, or from a file."""
        raise NotImplementedError


def needs_file(encoder: str, what: str) -> ModelError:
    """The error where the weights of an encoder have to be given by path."""
    return ModelError(
        f"image encoder {encoder} without weights",
        f"{what}",
        "give it with --encoder-weights PATH (model.image.weights)",
    )
