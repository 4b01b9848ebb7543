"""Attention maps of a caption, as plain arrays, and their drawing over the image.

A map is enlarged to the size of the image by bicubic interpolation and divided by its largest
value. Where the map is 1 the image keeps its colours; where it is 0 the image is dark and grey.
The scale starts at 0, not at the smallest weight, so that a uniform map is drawn uniform. The map
of a word that names nothing, such as "of", is drawn pale.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.engines.captioner import ImageAttention


SHOWN = 0.5  # share of a word's probability from labels from which on it is named
DARK = 0.22  # share of the brightness where the map is 0
FADED = 0.6  # share of white in the map of a word that names nothing
_FUNCTION_WORDS = (
    "a an the this that these those some several many few two three another other its his her "
    "their of in on at by to from with without for into onto over under above below near next "
    "beside behind between through across along around off out up down inside outside front back "
    "top side and or but while as is are was were be been being has have having do does it he she "
    "they them there which who what where when one each all both no not very"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


class AttentionMaps(NamedTuple):
    """An image, the words of its caption, and the attention map of each word."""

    name: str  # of the image
    image: Image.Image  # RGB, what the model reads of the photo, in its own shape
    words: tuple[str, ...]
    maps: NDArray[np.float32]  # (W, rows, columns)
    gates: NDArray[np.float32] | None  # (W,) beta: share of the context that the decoder used
    entropy: NDArray[np.float32]  # (W,) in nats
    read: str  # soft, hard argmax, hard sample or hard expected
    copied: NDArray[np.float32] | None = None  # (W,) share of the probability from labels
    hard: bool = False  # True: pictures show only the cell of the largest weight
    place: str = ""  # layer and head, where they were chosen
    model: str = ""  # its name, where the picture names it
    text: str = ""  # the caption, if the words of the panels are others

    def drawn(self, word: int) -> NDArray[np.float32]:
        """Return the map (rows, columns) of a word as it is drawn."""
        weights = self.maps[word]
        if not self.hard:
            return weights
        one = np.zeros_like(weights)
        one.flat[weights.argmax()] = 1
        return one

    def faded(self, word: int) -> float:
        """Return the share of white in the map of a word; 0 for a content word."""
        return 0.0 if is_content_word(self.words[word]) else FADED

    @property
    def caption(self) -> str:
        """Return the caption: the words as one line, unless it is given."""
        return self.text or " ".join(self.words)

    def figures(self, word: int) -> str:
        """Return gate, entropy and copied share of a word as text."""
        gate = "" if self.gates is None else f"β {self.gates[word]:.2f}  "
        share = 0.0 if self.copied is None else self.copied[word]
        label = f"  label {share:.0%}" if share >= SHOWN else ""
        return f"{gate}H {abs(self.entropy[word]):.2f}{label}"


def attention_maps(
    name: str, image: Image.Image, found: ImageAttention, *, hard: bool = True
) -> AttentionMaps:
    """Return the attention maps of a caption as arrays, with the image to draw them over.

    hard: True draws hard attention by argmax where the model reads the expectation.
    """
    return AttentionMaps(
        name=name,
        image=image,
        words=found.words,
        maps=found.maps.float().cpu().numpy(),
        gates=None if found.gates is None else found.gates.float().cpu().numpy(),
        entropy=found.entropy.float().cpu().numpy(),
        read=found.read,
        copied=None if found.copied is None else found.copied.float().cpu().numpy(),
        hard=hard and found.read == "hard expected",
        place=found.place,
    )


def fitting(image: Image.Image, side: int) -> tuple[int, int]:
    """Return width and height of an image whose longer side becomes `side`."""
    scale = side / max(image.size)
    return max(1, round(scale * image.width)), max(1, round(scale * image.height))


def smooth(weights: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.float32]:
    """Return a map (height, width), enlarged to a size (width, height), from 0 to 1."""
    image = Image.fromarray(np.ascontiguousarray(weights, np.float32))
    large = np.asarray(image.resize(size, Image.Resampling.BICUBIC)).clip(0)
    most = large.max()
    return large / most if most > 0 else large


def highlighted(attention: AttentionMaps, word: int, size: tuple[int, int]) -> Image.Image:
    """Return the image in a size (width, height), bright where the word has attention."""
    colours = np.asarray(attention.image.resize(size, Image.Resampling.LANCZOS), np.float32)
    grey = DARK * (colours @ np.array([0.299, 0.587, 0.114], np.float32))  # (height, width)
    share = smooth(attention.drawn(word), size)[..., None]  # (height, width, 1)
    mixed = share * colours + (1 - share) * grey[..., None]
    mixed += attention.faded(word) * (255 - mixed)
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
    """Return the arrays; see `archive`.

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
    return archive(arrays)


def archive(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return arrays as a compressed archive for ``numpy.load``, without pickled objects."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def described(attention: AttentionMaps) -> str:
    """Return the read mode, layer and head, and the cell that is drawn."""
    place = f" of {attention.place}" if attention.place else ""
    return f"{attention.read} attention{place}{', drawn by argmax' if attention.hard else ''}"


def explained(attention: AttentionMaps) -> str:
    """Return what the figures mean, the model, and the read mode."""
    gate = "" if attention.gates is None else "β gate: how much of it the model used;  "
    cells = math.log(max(1, attention.maps[0].size)) if len(attention.maps) else 0.0
    shown = ", ".join(filter(None, (attention.model, described(attention))))
    ends = f"0 one place, {cells:.2f} everywhere alike"
    said = "bright: where the model looks for a word, pale: the word names nothing;  "
    if attention.text:  # the panels are of several methods
        said = "bright: what the word depends on, by the method;  "
    return f"{said}{gate}{entropy_name(attention)}: {ends};  {shown}" if cells else shown


def entropy_name(attention: AttentionMaps) -> str:
    """Return what H is: also where one cell is drawn, it is of the weights that were read."""
    return f"H entropy{' of the expectation' if attention.hard else ''}"


def is_content_word(word: str) -> bool:
    """Return True for a word of a caption that names a thing, a quality or an action."""
    return any(map(str.isalpha, word)) and word.lower() not in FUNCTION_WORDS
