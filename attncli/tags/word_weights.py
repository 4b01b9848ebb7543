"""Attention weights between words, summed from the weights between tokens."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attncli.tags.spans import WordWeights
from models.base.types import Span

LITTLE = 0.01  # weights below this are left out


class TokenWeights(NamedTuple):
    """Tokens of a text and of its translation, and the attention weights between them."""

    source: Sequence[Span]  # characters of the S tokens
    target: Sequence[Span]  # T
    weights: Sequence[Sequence[float]]  # (T, S)


class PartWeights(NamedTuple):
    """Token weights of one part of a longer text, with the start of the part on both sides."""

    source_start: int
    target_start: int
    pieces: TokenWeights


def word_weights(
    parts: Sequence[PartWeights], source_words: Sequence[Span], target_words: Sequence[Span]
) -> WordWeights:
    """Return the weights between words. A token that overlaps two words is divided between them."""
    found: list[dict[int, float]] = [{} for _ in target_words]
    for start, target_start, (source, target, weights) in parts:
        owners = [list(_shares(source_words, a + start, b + start)) for a, b in source]
        for (a, b), row in zip(target, weights, strict=True):
            for target_word, share in _shares(target_words, a + target_start, b + target_start):
                row_weights = found[target_word]
                for weight, owner in zip(row, owners, strict=True):
                    if weight >= LITTLE:
                        for word, part in owner:
                            row_weights[word] = row_weights.get(word, 0.0) + weight * share * part
    return found


def _shares(words: Sequence[Span], start: int, end: int) -> Iterator[tuple[int, float]]:
    """Yield the words that a span of characters overlaps, and the share of the span in each."""
    word = bisect_right(words, start, key=lambda span: span[1])
    while word < len(words) and words[word][0] < end:
        first, last = words[word]
        yield word, (min(end, last) - max(start, first)) / (end - start)
        word += 1
