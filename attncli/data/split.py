"""Splitting a text that is too long for the model, losing nothing but the spaces between parts.

Sentences are translated one by one, as the model learned to. A sentence that is still too long is
halved: at the clause mark nearest its middle, else at the space, else between two characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

CLOSING = "[\"'”’»›)\\]」』）】]*"
SENTENCE_END = re.compile(rf"[.!?…]+{CLOSING}\s+|[。！？]+{CLOSING}\s*")
CLAUSE_END = re.compile(rf"[,;:]{CLOSING}\s+|[，；：、]{CLOSING}\s*")
SPACE = re.compile(r"\s+")


def split(text: str, fits: Callable[[str], bool]) -> list[str]:
    """The parts of a text, in order, each of which fits; the text itself where it does."""
    if fits(text):
        return [text]
    sentences = _strip_each(_cut_all(text, SENTENCE_END))
    return [part for sentence in sentences for part in _halved(sentence, fits)]


def _halved(text: str, fits: Callable[[str], bool]) -> list[str]:
    if fits(text) or len(text) < 2:
        return [text]
    middle = _middle(text)
    halves = _strip_each([text[:middle], text[middle:]])
    return [part for half in halves for part in _halved(half, fits)]


def _middle(text: str) -> int:
    """Where to cut: the strongest boundary there is, and of these the one nearest the middle."""
    half = len(text) // 2
    for boundary in (CLAUSE_END, SPACE):
        ends = [match.end() for match in boundary.finditer(text) if match.end() < len(text)]
        if ends:
            return min(ends, key=lambda end: abs(end - half))
    while half < len(text) - 1 and unicodedata.combining(text[half]):
        half += 1  # an accent stays with its letter
    return half


def _cut_all(text: str, boundary: re.Pattern[str]) -> Iterator[str]:
    start = 0
    for match in boundary.finditer(text):
        yield text[start : match.end()]
        start = match.end()
    yield text[start:]


def _strip_each(texts: Iterator[str] | list[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]
