"""Running text in lines of limited width, for the pictures that place each word themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class WordPlace(NamedTuple):
    """Place of a word: the number of its line, from 0, and its distance from the line's start."""

    line: int
    x: float


def placed(widths: Sequence[float], gap: float, room: float) -> list[WordPlace]:
    """Return the place of each word; a word that does not fit begins a new line.

    widths: of the words; gap: between words; room: width of a line, in the same unit. A word wider
    than a line has a line of its own.
    """
    places, line, x = [], 0, 0.0
    for width in widths:
        if x and x + width > room:
            line, x = line + 1, 0.0
        places.append(WordPlace(line, x))
        x += width + gap
    return places


def line_count(widths: Sequence[float], gap: float, room: float) -> int:
    """Return the number of lines of a text; 0 for one without words."""
    places = placed(widths, gap, room)
    return places[-1].line + 1 if places else 0
