"""Tables of the statistical aligner of a bundle, and their safetensors file.

Words are stored as UTF-8 lines. `models.align_train.hmm` computes with the tables.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from models.core.errors import intact
from models.core.files import write_bytes
from models.storage.digests import check_digests
from models.storage.settings import STATISTICAL

SIDES = ("source", "target")
WAYS = ("forward", "reverse")
MARKS = re.compile(r"^\W+|\W+$")
MAX_WORDS = 200  # of a side of a sentence pair that a word aligner is trained on


class HmmTables(NamedTuple):
    """Trained hidden Markov model of one direction."""

    lexicon: Tensor  # (K,) p(target word | source word) of each pair of words
    null: Tensor  # (target words,) p(target word) without a source word
    jumps: Tensor  # (2 MAX_WORDS + 1,) preference for each width


class StatisticalTables(NamedTuple):
    """Lexicon and jumps of both directions, with the words that they are about."""

    source: tuple[str, ...]  # words, normalised
    target: tuple[str, ...]
    pairs: Tensor  # (2, K) numbers of a source and a target word, sorted
    forward: HmmTables  # target words given source words
    reverse: HmmTables


def statistical_bytes(tables: StatisticalTables) -> bytes:
    """Return the content of the file."""
    tensors = {side: as_tensor(getattr(tables, side)) for side in SIDES}
    for way in WAYS:
        parts = getattr(tables, way)._asdict()
        tensors |= {f"{way}.{name}": part for name, part in parts.items()}
    tensors["pairs"] = tables.pairs.int()
    return save({name: tensor.contiguous() for name, tensor in tensors.items()})


def write_statistical(tables: StatisticalTables, folder: Path) -> None:
    """Write the file into an existing folder."""
    write_bytes(folder / STATISTICAL, statistical_bytes(tables))


def read_statistical(folder: Path) -> StatisticalTables | None:
    """Return the statistical aligner of a bundle; None if it has none.

    Raises DamagedError if the file cannot be read or if its parts do not fit each other.
    """
    path = folder / STATISTICAL
    if not path.exists():
        return None
    check_digests(folder, [STATISTICAL])
    with intact(path, "a file written by `attn align train`", "", SafetensorError, RuntimeError):
        stored = load(path.read_bytes())
        source, target = (as_words(stored[side]) for side in SIDES)
        forward, reverse = (
            HmmTables(*(stored[f"{way}.{name}"] for name in HmmTables._fields)) for way in WAYS
        )
        tables = StatisticalTables(source, target, stored["pairs"].long(), forward, reverse)
        check(tables)
    return tables


def check(tables: StatisticalTables) -> None:
    """Raise ValueError if parts do not fit each other, or if a number is not a probability."""
    pairs, sizes = tables.pairs, (len(tables.source), len(tables.target))
    if pairs.shape[:-1] != (2,) or not pairs.numel():
        raise ValueError("no pairs of words")
    keys = pairs[0] * sizes[1] + pairs[1]
    listed = (pairs >= 0) & (pairs < torch.tensor(sizes)[:, None])
    # pairs are found by bisection, which a wrong order would mislead without an error
    if not listed.all() or (keys[1:] <= keys[:-1]).any():
        raise ValueError("a pair of words that is not listed, or in another order")
    for direction, words in ((tables.forward, sizes[1]), (tables.reverse, sizes[0])):
        for part, length in zip(direction, (len(keys), words, 2 * MAX_WORDS + 1), strict=True):
            fits = part.shape == (length,) and part.is_floating_point()
            if not (fits and ((part >= 0) & (part < torch.inf)).all()):
                raise ValueError("a number that is no probability")
        # a jump of probability 0 would make the chain of a sentence impossible
        if not (direction.jumps > 0).all():
            raise ValueError("jumps of probability 0")


def as_tensor(words: tuple[str, ...]) -> Tensor:
    """Return words as bytes (M,), one a line."""
    return torch.tensor(list("".join(f"{word}\n" for word in words).encode()), dtype=torch.uint8)


def as_words(content: Tensor) -> tuple[str, ...]:
    """Return the words of bytes (M,)."""
    return tuple(bytes(content.to(torch.uint8).flatten().tolist()).decode("utf-8").split("\n")[:-1])


def normalised(word: str) -> str:
    """Return a word in lower case, without punctuation at its ends unless it has nothing else."""
    lowered = word.lower()
    return MARKS.sub("", lowered) or lowered
