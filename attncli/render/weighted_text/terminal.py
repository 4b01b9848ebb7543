"""Words on the colour of their weight, for a terminal: one line of text, or one for each head.

Without colours, the weight in percent follows each word of at least one percent.
"""

from __future__ import annotations

from attncli.data.weighted_text import WeightedText, WeightRow
from attncli.render.alignment.terminal import coloured
from attncli.terminal.screen import Screen
from attncli.terminal.width import without_controls

SMALLEST = 0.01  # of a weight that is written as a number


def words_in_colour(text: WeightedText, screen: Screen) -> str:
    """Return a line for each row; the word of largest weight has the strongest colour."""
    return "".join(f"{_line(text, row, screen)}\n" for row in text.rows if text.words)


def _line(text: WeightedText, row: WeightRow, screen: Screen) -> str:
    name = [f"{row.name}:"] if row.name else []
    cells = zip(text.words, row.weights, row.shades, strict=True)
    return " ".join([*name, *(_word(*cell, screen) for cell in cells)])


def _word(word: str, weight: float, shade: float, screen: Screen) -> str:
    text = without_controls(word)
    if screen.colours:
        return coloured(text, shade, screen)
    return f"{text} ({100 * weight:.0f})" if weight >= SMALLEST else text
