"""How much each word of a translation looks at each word of its source, from what pieces do."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attncli.tags.spans import WordWeights
from attncli.tags.words import Span

LITTLE = 0.01  # weights below this are left out


class TokenWeights(NamedTuple):
    """The pieces of a text and of its translation, and how much these look at those."""

    source: Sequence[Span]  # S pieces: which characters they stand for
    target: Sequence[Span]  # T
    weights: Sequence[Sequence[float]]  # (T, S)


class PartWeights(NamedTuple):
    """A part of a longer text: where it begins, and where its translation does."""

    source_start: int
    target_start: int
    pieces: TokenWeights


def word_weights(
    parts: Sequence[PartWeights], source_words: Sequence[Span], target_words: Sequence[Span]
) -> WordWeights:
    """The looks of words, summed over their pieces; a piece of two words counts for both."""
    looks: list[dict[int, float]] = [{} for _ in target_words]
    for start, target_start, (source, target, weights) in parts:
        owners = [list(_shares(source_words, a + start, b + start)) for a, b in source]
        for (a, b), row in zip(target, weights, strict=True):
            for looking, share in _shares(target_words, a + target_start, b + target_start):
                look = looks[looking]
                for weight, owner in zip(row, owners, strict=True):
                    if weight >= LITTLE:
                        for word, part in owner:
                            look[word] = look.get(word, 0.0) + weight * share * part
    return looks


def _shares(words: Sequence[Span], start: int, end: int) -> Iterator[tuple[int, float]]:
    """The words that a stretch of characters overlaps, and the part of it that lies in each."""
    word = bisect_right(words, start, key=lambda span: span[1])
    while word < len(words) and words[word][0] < end:
        first, last = words[word]
        yield word, (min(end, last) - max(start, first)) / (end - start)
        word += 1
