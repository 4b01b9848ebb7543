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
SIDE = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)\s*(%?)\s*")
SECONDS = re.compile(r"\s*(\d{1,9}(?:\.\d{0,9})?)\s*-\s*(\d{1,9}(?:\.\d{0,9})?)\s*")


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


def box_of(where: str, size: tuple[int, int]) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of a frame in shares of an image of a size in pixels.

    Raises InputError for another text.
    """
    sides = [SIDE.fullmatch(side) for side in where.split(",")]
    if len(sides) != 4 or not all(sides):
        raise InputError(
            f"a look at {where!r}",
            "left, top, right and bottom in pixels or per cent, such as 50%,0,100%,100%",
        )
    shares = [
        float(side[1]) / (100 if side[2] else size[at % 2]) for at, side in enumerate(sides) if side
    ]
    left, top, right, bottom = shares
    return left, top, right, bottom
