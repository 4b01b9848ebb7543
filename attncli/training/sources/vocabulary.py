"""The size of a learned vocabulary, and learning it so that Ctrl-C can interrupt it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from models.base.interruptible import interruptible

if TYPE_CHECKING:
    from attncli.training.interfaces import Progress

LARGEST, SMALLEST = 32_000, 400  # tokens
MOST_LINES = 300_000  # pairs or texts that a vocabulary is learned from; more are sampled

T = TypeVar("T")


def learned_vocabulary(learn: Callable[[], T], progress: Progress) -> T:
    """Show that a vocabulary is being learned; learn and return it."""
    progress("learning the vocabulary", 0, 0)
    return interruptible(learn)


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Return the number of running words."""
    return sum(len(line.split()) for line in lines)
