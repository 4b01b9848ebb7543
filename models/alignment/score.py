"""Alignment error rate, and the diagonal baseline.

    AER(A; S, P) = 1 - (|A & S| + |A & P|) / (|A| + |S|),  S within P
Source: Och and Ney 2003, section 4.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from typing import NamedTuple

from models.base.types import Link


class GoldLinks(NamedTuple):
    """Reference links made by people; sure links are possible ones too."""

    sure: Set[Link]
    possible: Set[Link] = frozenset()


def error_rate(
    found: Iterable[Set[Link]],
    sure: Iterable[Set[Link]],
    possible: Iterable[Set[Link]] | None = None,
) -> float:
    """Return the alignment error rate of a corpus, 0 to 1."""
    sure = list(sure)
    hits = size = 0
    for links, certain, allowed in zip(found, sure, possible or sure, strict=True):
        hits += len(links & certain) + len(links & (allowed | certain))
        size += len(links) + len(certain)
    return 1 - hits / size if size else 0.0


def diagonal(source_words: int, target_words: int) -> set[Link]:
    """Return the links of each target word with the source word at the same relative position.

    A baseline that ignores the words.
    """
    if not source_words:
        return set()
    return {((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words)}
