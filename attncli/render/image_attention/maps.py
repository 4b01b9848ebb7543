"""Attention maps of a caption, as plain arrays, and their drawing over the image.

A map is enlarged to the size of the image by bicubic interpolation and divided by its largest
value. Where the map is 1 the image keeps its colours; where it is 0 the image is dark and grey.
The scale starts at 0, not at the smallest weight, so that a uniform map is drawn uniform.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.inference.captioner import ImageAttention

SHOWN = 0.5  # share of a word's probability from labels from which on it is named
DARK = 0.22  # share of the brightness where the map is 0


class AttentionMaps(NamedTuple):
    """An image, the words of its caption, and the attention map of each word."""

    name: str  # of the image
    image: Image.Image  # RGB, square, as the model received it
    words: tuple[str, ...]
    maps: NDArray[np.float32]  # (W, rows, columns)
    gates: NDArray[np.float32] | None  # (W,) beta: share of the context that the decoder used
    entropy: NDArray[np.float32]  # (W,) in nats
    read: str  # soft, hard argmax, hard sample or hard expected
    copied: NDArray[np.float32] | None = None  # (W,) share of the probability from labels

    @property
    def caption(self) -> str:
        """Return the words as one line."""
        return " ".join(self.words)

    def figures(self, word: int) -> str:
        """Return gate, entropy and copied share of a word as text."""
        gate = "" if self.gates is None else f"β {self.gates[word]:.2f}  "
        share = 0.0 if self.copied is None else self.copied[word]
        label = f"  label {share:.0%}" if share >= SHOWN else ""
        return f"{gate}H {self.entropy[word]:.2f}{label}"


def attention_maps(name: str, image: Image.Image, found: ImageAttention) -> AttentionMaps:
    """Return the attention maps of a caption as arrays, with the image to draw them over."""
    return AttentionMaps(
        name=name,
        image=image,
        words=found.words,
        maps=found.maps.float().cpu().numpy(),
        gates=None if found.gates is None else found.gates.float().cpu().numpy(),
        entropy=found.entropy.float().cpu().numpy(),
        read=found.read,
        copied=None if found.copied is None else found.copied.float().cpu().numpy(),
    )


def smooth(weights: NDArray[np.float32], side: int) -> NDArray[np.float32]:
    """Return a map enlarged to (side, side), from 0 to 1."""
    image = Image.fromarray(np.ascontiguousarray(weights, np.float32))
    large = np.asarray(image.resize((side, side), Image.Resampling.BICUBIC)).clip(0)
    most = large.max()
    return large / most if most > 0 else large


def highlighted(attention: AttentionMaps, word: int, side: int) -> Image.Image:
    """Return the image (side, side), bright where the word has attention."""
    colours = np.asarray(attention.image.resize((side, side), Image.Resampling.LANCZOS), np.float32)
    grey = DARK * (colours @ np.array([0.299, 0.587, 0.114], np.float32))  # (side, side)
    share = smooth(attention.maps[word], side)[..., None]  # (side, side, 1)
    mixed = share * colours + (1 - share) * grey[..., None]
    return Image.fromarray(mixed.round().astype(np.uint8))


def mean_overlap(maps: NDArray[np.float32]) -> float:
    """Return the overlap of the words' maps, from 0 to 1 (all maps equal).

    It is 1 minus the mean total variation distance between a word's map and the mean map.
    """
    if not len(maps):
        return 0.0
    flat = maps.reshape(len(maps), -1)
    return float(1 - np.abs(flat - flat.mean(0)).sum(1).mean() / 2)


def npz(attention: AttentionMaps) -> bytes:
    """Return the arrays as a compressed archive for ``numpy.load``, without pickled objects.

    image (side, side, 3) uint8; words (W,); maps (W, rows, columns); entropy (W,) in nats; gates
    (W,) and copied (W,), the share of each word that was copied from a label, if the model has
    them; name and read, texts.
    """
    arrays = {
        "image": np.asarray(attention.image, np.uint8),
        "words": np.array(attention.words, dtype=np.str_),
        "maps": attention.maps,
        "entropy": attention.entropy,
        "name": np.array(attention.name),
        "read": np.array(attention.read),
    }
    optional = {"gates": attention.gates, "copied": attention.copied}
    arrays |= {name: values for name, values in optional.items() if values is not None}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()
