"""Running text in lines of limited width, for the pictures that place each word themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from attncli.data.weighted_text import WeightedText


class Measures(NamedTuple):
    """Sizes of a picture, in its unit."""

    line: float  # height of a line
    room: float  # width of a line
    gap: float  # between words
    margin: float  # around the text
    name: float  # for the name of a head


class PlacedText(NamedTuple):
    """A title, the name of a head, or a word on its colour."""

    text: str
    x: float
    top: float  # of its line
    width: float = 0.0  # of a word
    weight: float = 0.0  # of a word
    shade: float | None = None  # of a word; None: a title or a name


def laid_out(
    texts: Sequence[WeightedText], widths: Sequence[Sequence[float]], sizes: Measures
) -> tuple[list[PlacedText], float]:
    """Return the texts one under another, and the end of the last line.

    widths: of the words of each text. A word that does not fit begins a new line.
    """
    found: list[PlacedText] = []
    top = sizes.margin
    for text, own in zip(texts, widths, strict=True):
        found.append(PlacedText(text.title, sizes.margin, top))
        top += sizes.line
        for row in text.rows:
            left = sizes.margin
            if row.name:
                found.append(PlacedText(row.name, left, top))
                left += sizes.name
            x = 0.0
            for word, width, weight, shade in zip(
                text.words, own, row.weights, row.shades, strict=True
            ):
                if x and x + width > sizes.room:
                    top, x = top + sizes.line, 0.0
                found.append(PlacedText(word, left + x, top, width, weight, shade))
                x += width + sizes.gap
            top += sizes.line if text.words else 0
        top += sizes.line / 2
    return found, top
