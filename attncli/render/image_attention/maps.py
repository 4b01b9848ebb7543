"""Where a model looked in a picture, as plain arrays, and that drawn over the picture.

A map is brought to the size of the picture smoothly (bicubic), 1 where the word looked most and 0
where it did not look: what was looked at is shown as it is, the rest dark and without colour. The
scale starts at 0 and not at the lowest weight, so that a map that is the same everywhere looks so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

DARK = 0.22  # of the brightness, where the model did not look


class AttentionMaps(NamedTuple):
    """A picture, what was said of it, and where each word looked."""

    name: str  # of the picture
    picture: Image  # RGB, square: what the model saw
    words: tuple[str, ...]
    maps: NDArray[np.float32]  # (W, rows, columns)
    gates: NDArray[np.float32] | None  # (W,) beta: how much of what was read went on
    entropy: NDArray[np.float32]  # (W,) in nats
    read: str  # soft, hard argmax, hard sample or hard expected

    @property
    def caption(self) -> str:
        """The words, with spaces between."""
        return " ".join(self.words)

    def figures(self, word: int) -> str:
        """Gate and entropy of a word, as text."""
        gate = "" if self.gates is None else f"β {self.gates[word]:.2f}  "
        return f"{gate}H {self.entropy[word]:.2f}"


def smooth(weights: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """A map as (side, side) numbers from 0 to 1."""
    from PIL import Image

    image = Image.fromarray(np.ascontiguousarray(weights, np.float32))
    large = np.asarray(image.resize((side, side), Image.Resampling.BICUBIC)).clip(0)
    most = large.max()
    return large / most if most > 0 else large


def highlighted(attention: AttentionMaps, word: int, side: int) -> Image:
    """The picture, (side, side), light where the word looked."""
    from PIL import Image

    colours = np.asarray(
        attention.picture.resize((side, side), Image.Resampling.LANCZOS), np.float32
    )
    grey = DARK * (colours @ np.array([0.299, 0.587, 0.114], np.float32))  # (side, side)
    share = smooth(attention.maps[word], side)[..., None]  # (side, side, 1)
    mixed = share * colours + (1 - share) * grey[..., None]
    return Image.fromarray(mixed.round().astype(np.uint8))


def mean_overlap(maps: NDArray[np.float32]) -> float:
    """The share of the attention that lies in the same place for every word, from 0 to 1.

    1 less the mean total variation distance between a word's map and the mean map.
    """
    if not len(maps):
        return 0.0
    flat = maps.reshape(len(maps), -1)
    return float(1 - np.abs(flat - flat.mean(0)).sum(1).mean() / 2)
