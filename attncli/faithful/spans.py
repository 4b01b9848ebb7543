"""Spans of a text: its words, and what they are translated to."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from models.core.types import Span

# A word is a run of letters, digits and the accents on them; where a script writes no spaces, each
# letter is a word. Punctuation is not a word; it moves with the word that it touches.

UNSPACED = re.compile(  # Thai to Khmer, kana, Han, marks
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\ue000-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff]"
)
WordWeights = Sequence[dict[int, float]]  # for each target word: weight by source word
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
