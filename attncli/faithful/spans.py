"""Spans of a text: its words, and what they are translated to."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from models.core.types import Span

# A word is a run of letters, digits and the accents on them; where a script writes no spaces, each
# letter is a word. Punctuation is not a word; it moves with the word that it touches.

UNSPACED = re.compile(  # Thai to Khmer, kana, Han, marks
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\ue000-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
WordWeights = Sequence[dict[int, float]]  # for each target word: weight by source word
LEAST = 0.1  # least share of the attention that counts as an alignment
NEAR = 30  # source words on each side of a cut that are considered
LITTLE = 0.01  # weights below this are left out


def words(text: str) -> list[Span]:
    """Return the words of a text in order."""
    found: list[Span] = []
    for at, character in enumerate(text):
        if not _in_word(character):
            continue
        accent = unicodedata.category(character)[0] == "M"
        apart = UNSPACED.search(text[max(at - 1, 0) : at + 1])
        if found and found[-1][1] == at and (accent or not apart):
            found[-1] = (found[-1][0], at + 1)
        else:
            found.append((at, at + 1))
    return found


def has_word(text: str) -> bool:
    """Return True if a text has a word, that is, anything to translate."""
    return any(_in_word(character) and not is_mark(character) for character in text)


def is_mark(character: str) -> bool:
    """Return True for a character of the private area, such as the mark of a protected part."""
    return "\ue000" <= character <= "\uf8ff"


def _in_word(character: str) -> bool:
    return character.isalnum() or unicodedata.category(character)[0] == "M" or is_mark(character)


class WeightIndex:
    """Normalised weights of the target words, indexed by source word."""

    def __init__(self, weights: WordWeights) -> None:
        totals = (sum(row.values()) for row in weights)
        self.shares = [
            {word: part / total for word, part in row.items() if part > 0}
            for row, total in zip(weights, totals, strict=True)
        ]
        self.by_source: dict[int, list[int]] = {}
        for word, row in enumerate(self.shares):
            for source in row:
                self.by_source.setdefault(source, []).append(word)

    def span(self, own: Span, total: int, within: Span, taken: Sequence[Span]) -> Span:
        """Return the target words for the source words ``own`` of ``total``; empty if none is free.

        taken: spans, in order, that are not free.
        """
        first, last = self._window(range(*own), within)
        shares = [self._share(word, *own) for word in range(first, last)]
        best = max(
            (_best(shares, *free, first) for free in _free((first, last), taken)), default=None
        )
        if best and best[0] > 0:
            return -best[2], best[1] - best[2]
        if within[0] == within[1]:
            return within
        most = max(shares, default=0.0)
        if most >= LEAST:
            word = first + shares.index(most)
        else:  # at the relative position of the middle of the source words
            middle = (own[0] + own[1]) / (2 * max(1, total))
            word = min(within[1] - 1, within[0] + int(middle * (within[1] - within[0])))
        near = bisect_right(taken, word, key=lambda one: one[0]) - 1
        if near >= 0 and word < taken[near][1]:
            return taken[near][1], taken[near][1]
        return word, word + 1

    def cut(self, at: int, own: Span, within: Span) -> int:
        """Return the target word to cut before, for a cut before word ``at`` of the source."""
        if at <= own[0] or within[0] == within[1]:
            return within[0]
        if at >= own[1]:
            return within[1]
        guess = within[0] + (at - own[0]) / (own[1] - own[0]) * (within[1] - within[0])
        near = range(max(own[0], at - NEAR), min(own[1], at + NEAR))
        first, last = self._window(near, within)
        if first == last:
            return round(guess)
        gains = [0.0]
        for word in range(first, last):
            known = bool(self.shares[word])
            gains.append(gains[-1] + (2 * self._share(word, 0, at) - 1 if known else 0.0))
        return first + max(
            range(len(gains)), key=lambda word: (round(gains[word], 6), -abs(first + word - guess))
        )

    def _window(self, source: Iterable[int], within: Span) -> Span:
        """Return the span of the target words with attention on some source words."""
        words = [word for one in source for word in self.by_source.get(one, ())]
        inside = [word for word in words if within[0] <= word < within[1]]
        return (min(inside), max(inside) + 1) if inside else (within[0], within[0])

    def _share(self, word: int, first: int, last: int) -> float:
        """Return the share of a target word's attention on a span of source words."""
        return sum(part for one, part in self.shares[word].items() if first <= one < last)


def _free(within: Span, taken: Sequence[Span]) -> Iterator[Span]:
    start, end = within
    for first, last in taken[max(0, bisect_right(taken, start, key=lambda one: one[0]) - 1) :]:
        if first >= end:
            break
        if start < first:
            yield start, first
        start = max(start, last)
    if start < end:
        yield start, end


def _best(shares: list[float], start: int, end: int, origin: int) -> tuple[float, int, int]:
    """Return (gain, length, -start) of the best run of words: of equals the longest, first."""
    best = (0.0, 0, -start)
    gain, first = 0.0, start
    for word in range(start, end):
        if gain < 0:
            gain, first = 0.0, word
        gain += shares[word - origin] - 0.5
        best = max(best, (round(gain, 6), word + 1 - first, -first))
    return best


class TokenWeights(NamedTuple):
    """Tokens of a text and of its translation, and the attention weights between them."""

    source: Sequence[Span]  # characters of the S tokens
    target: Sequence[Span]  # T
    weights: Sequence[Sequence[float]]  # (T, S)

    def moved(self, source: int, target: int) -> TokenWeights:
        """Return the weights as those of a part that begins there in longer texts."""
        return TokenWeights(
            [(first + source, last + source) for first, last in self.source],
            [(first + target, last + target) for first, last in self.target],
            self.weights,
        )


def word_weights(
    parts: Sequence[TokenWeights], source_words: Sequence[Span], target_words: Sequence[Span]
) -> WordWeights:
    """Return the weights between the words of texts, from those of the tokens of their parts.

    A token that overlaps two words is divided between them.
    """
    found: list[dict[int, float]] = [{} for _ in target_words]
    for source, target, weights in parts:
        owners = [list(_shares(source_words, *span)) for span in source]
        for span, row in zip(target, weights, strict=True):
            for target_word, share in _shares(target_words, *span):
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


class Edit(NamedTuple):
    """A span of a text as the model has it, in the place of which a mark stands."""

    start: int
    end: int
    mark: str  # one character


def shifted(spans: Sequence[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return spans of a text as the model has it as spans of the text with marks."""
    if not edits:
        return [*spans]
    return [(_shifted(start, edits), _shifted(end, edits, is_end=True)) for start, end in spans]


def _shifted(position: int, edits: Sequence[Edit], *, is_end: bool = False) -> int:
    removed = 0
    for start, end, _ in edits:
        if position <= start:
            break
        if position < end:
            return start - removed + is_end
        removed += end - start - 1
    return position - removed
