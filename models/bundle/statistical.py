"""The statistical aligner of a bundle as a safetensors file: words as UTF-8 lines, and tensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.bundle.digests import check_digests
from models.bundle.settings import STATISTICAL
from models.errors import DamagedError
from models.files import write_bytes

if TYPE_CHECKING:  # models.alignment imports this package
    from models.alignment.statistical import StatisticalAligner

SIDES = ("source", "target")
WAYS = ("forward", "reverse")


def statistical_bytes(aligner: StatisticalAligner) -> bytes:
    """Return the content of the file."""
    from safetensors.torch import save

    tensors = {side: as_tensor(getattr(aligner, side)) for side in SIDES}
    for way in WAYS:
        parts = getattr(aligner, way)._asdict()
        tensors |= {f"{way}.{name}": part for name, part in parts.items()}
    tensors["pairs"] = aligner.pairs.int()
    return save({name: tensor.contiguous() for name, tensor in tensors.items()})


def write_statistical(aligner: StatisticalAligner, folder: Path) -> None:
    """Write the file into an existing folder."""
    write_bytes(folder / STATISTICAL, statistical_bytes(aligner))


def read_statistical(folder: Path) -> StatisticalAligner | None:
    """Return the statistical aligner of a bundle; None if it has none.

    Raises DamagedError if the file cannot be read or if its parts do not fit each other.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    path = folder / STATISTICAL
    if not path.exists():
        return None
    check_digests(folder, [STATISTICAL])
    try:
        aligner = from_tensors(load(path.read_bytes()))
        check(aligner)
    except (OSError, SafetensorError, ValueError, KeyError, RuntimeError) as error:
        raise DamagedError(
            f"{path} is damaged ({error})", "a file written by `attn align train`"
        ) from None
    return aligner


def from_tensors(tensors: dict[str, Tensor]) -> StatisticalAligner:
    """Return the aligner of stored tensors."""
    from models.alignment.statistical import Direction, StatisticalAligner

    source, target = (as_words(tensors[side]) for side in SIDES)
    forward, reverse = (
        Direction(*(tensors[f"{way}.{name}"] for name in Direction._fields)) for way in WAYS
    )
    return StatisticalAligner(source, target, tensors["pairs"].long(), forward, reverse)


def check(aligner: StatisticalAligner) -> None:
    """Raise ValueError if parts do not fit each other, or if a number is not a probability."""
    from models.alignment.word_pairs import MAX_WORDS

    sizes = len(aligner.source), len(aligner.target)
    pairs = aligner.pairs
    if pairs.dim() != 2 or len(pairs) != 2:
        raise ValueError("pairs of words")
    for row, size in zip(pairs, sizes, strict=True):
        if row.numel() and not (int(row.min()) >= 0 and int(row.max()) < size):
            raise ValueError("a word that is not listed")
    keys = pairs[0] * sizes[1] + pairs[1]
    if not bool((keys[1:] > keys[:-1]).all()):
        raise ValueError("pairs of words in another order")
    for direction, words in ((aligner.forward, sizes[1]), (aligner.reverse, sizes[0])):
        wanted = {"lexicon": len(keys), "null": words, "jumps": 2 * MAX_WORDS + 1}
        for name, part in direction._asdict().items():
            if part.shape != (wanted[name],) or not bool(((part >= 0) & (part < torch.inf)).all()):
                raise ValueError(name)


def as_tensor(words: tuple[str, ...]) -> Tensor:
    """Return words as bytes (M,), one a line."""
    return torch.tensor(list("".join(f"{word}\n" for word in words).encode()), dtype=torch.uint8)


def as_words(content: Tensor) -> tuple[str, ...]:
    """Return the words of bytes (M,)."""
    return tuple(bytes(content.to(torch.uint8).tolist()).decode("utf-8").split("\n")[:-1])
