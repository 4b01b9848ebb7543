"""The size of a learned vocabulary."""

from __future__ import annotations

import math
from collections.abc import Iterable

LARGEST, SMALLEST = 32_000, 400  # tokens
MOST_LINES = 300_000  # pairs or texts that a vocabulary is learned from; more are sampled


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Return the number of running words."""
    return sum(len(line.split()) for line in lines)
