"""Division of texts into sentences and smaller pieces."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from itertools import pairwise

from models.core.limits import SPLIT_MARKS

CLOSING = "[\"'”’»›)\\]」』）】]*"
SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]+{CLOSING}\s+|[。！？]+{CLOSING}\s*")
NO_END = re.compile(
    r"(?:^|[\s(])(?:\w|\d+|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Nr|vs|etc|e\.g|i\.e|z\.\s?B|bzw|ca|M|Mme)\.$"
)  # a period that ends no sentence
LONGEST_WORD = 40  # characters before a period
CLAUSE_END = re.compile(rf"[,;:]{CLOSING}\s+|[，；：、]{CLOSING}\s*")
CONJUNCTION = re.compile(
    r"(?<!\s)\s+(?=(?:and|but|because|so|then|when|while|which|or|if|after|before|und|aber|weil|dass|denn|dann"
    r"|wenn|oder|während|nachdem|bevor|et|mais|parce|car|puis|quand|ou|si|donc|y|pero|porque|entonces"
    r"|cuando|o|así)\s)"
)
SPACE = re.compile(r"\s+")

Fits = Callable[[str], bool]


def split(text: str, fits: Fits, fits_cut: Fits | None = None) -> list[str]:
    """Return the parts of a text in order. Each part fits, unless it is a single character.

    fits_cut: stricter condition for the parts of a text that is cut between two characters.
    """
    if fits(text):
        return [text]
    cuts = [0, *(found.end() for found in SENTENCE_END.finditer(text)), len(text)]
    sentences = _strip_each(text[start:end] for start, end in pairwise(cuts))
    return [part for sentence in sentences for part in _halved(sentence, fits, fits_cut or fits)]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text. No sentence ends after an abbreviation or an initial."""
    parts, start = [], 0
    for match in SENTENCE_END.finditer(text):
        end = match.end()
        last = text[max(start, match.start() - LONGEST_WORD) : end].rstrip()
        if not NO_END.search(last) and not text[end : end + 1].islower():
            parts.append(text[start:end])
            start = end
    return _strip_each([*parts, text[start:]])


def _halved(text: str, fits: Fits, fits_cut: Fits) -> list[str]:
    if fits(text) or len(text) < 2:
        return [text]
    middle = _boundary(text)
    if not middle:
        middle, fits = _between_characters(text), fits_cut
    parts = _strip_each([text[:middle], text[middle:]])
    return [half for part in parts for half in _halved(part, fits, fits_cut)]


def halves(text: str) -> list[str]:
    """Return the two parts of a text, divided at the strongest boundary near its middle."""
    middle = _boundary(text)
    return _strip_each([text[:middle], text[middle:]]) if middle else [text]


def _boundary(text: str) -> int:
    """Return the end of the strongest kind of boundary, the one nearest to the middle; 0 if none.

    The strongest kind is a clause mark, then a conjunction in the middle half, then a space.
    """
    half = len(text) // 2
    for boundary in (CLAUSE_END, CONJUNCTION, SPACE):
        ends = [match.end() for match in boundary.finditer(text) if match.end() < len(text)]
        if boundary is CONJUNCTION:
            ends = [end for end in ends if half / 2 < end < half * 3 / 2]
        if ends:
            return min(ends, key=lambda end: abs(end - half))
    return 0


def _between_characters(text: str) -> int:
    """Return the position between two characters that is nearest to the middle."""
    half = len(text) // 2
    for cut in range(half, min(half + SPLIT_MARKS, len(text) - 1)):
        if not unicodedata.combining(text[cut]):  # an accent stays with its letter
            return cut
    return half if half + SPLIT_MARKS < len(text) else len(text) - 1


def _strip_each(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]
