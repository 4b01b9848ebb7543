"""Looks as a person writes them: WHERE[@WORDS].

    text      dog, "small house", 3, 2-4, dog@1-3      a text, or numbers of words, from 1
    image     50%,0,100%,100%    10,20,200,180@2-      left, top, right, bottom; pixels or per cent
    sound     1.2-2.5@1                                seconds

WORDS are words of the output; without them, all that are behind the prefix.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from models.core.errors import InputError

WORDS = re.compile(r"(\d{1,6})(?:(-)(\d{1,6})?)?")


class WordRange(NamedTuple):
    """Words of an output, counted from 1."""

    first: int = 0  # 0: the first behind the prefix
    last: int = 0  # 0: the last one


def look_of(text: str) -> tuple[str, WordRange]:
    """Return where a look is, and its output words; raise InputError if these are no numbers."""
    where, at, words = text.rpartition("@")
    if not at:
        return text.strip(), WordRange()
    if found := range_of(words.strip()):
        return where.strip(), found
    raise InputError(
        f"a look for the words {words!r}", "words of the output, as in dog@1-3 or dog@2-"
    )


def range_of(text: str) -> WordRange | None:
    """Return the words that 2, 2-4 or 2- means; None for another text."""
    found = WORDS.fullmatch(text)
    if not found:
        return None
    first = int(found[1])
    last = int(found[3] or 0) if found[2] else first
    return WordRange(first, last) if first and not 0 < last < first else None
