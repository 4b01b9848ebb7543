"""Words on the colour of their weight, for a terminal, and as an alignment for pictures.

Without colours, the weight in percent follows each word of at least one percent.
"""

from __future__ import annotations

from collections.abc import Sequence

from attncli.data.classified import ClassifiedLine
from attncli.data.panels import AlignedPair, Panel
from attncli.render.alignment.terminal import coloured
from attncli.render.screen import Screen
from attncli.render.width import without_controls
from models.types import WordWeight

SMALLEST = 0.01  # of a weight that is written as a number


def words_in_colour(words: Sequence[WordWeight], screen: Screen) -> str:
    """Return the words in one line; the word of largest weight has the strongest colour."""
    largest = max((weight for _, weight in words), default=0.0) or 1.0
    return " ".join(_word(word, weight, largest, screen) for word, weight in words)


def as_pair(outcome: ClassifiedLine) -> AlignedPair:
    """Return words and label as an aligned pair, which every picture format can draw."""
    number, result = outcome.line.number, outcome.result
    if result is None or not result.labels:
        return AlignedPair(number, (), (), (Panel("", frozenset()),), note=outcome.note)
    import numpy

    words, weights = zip(*result.words, strict=True)
    panel = Panel("", frozenset(), numpy.array([weights]))
    label, probability = result.labels[0]
    return AlignedPair(number, words, (f"{label} ({100 * probability:.0f} %)",), (panel,))


def _word(word: str, weight: float, largest: float, screen: Screen) -> str:
    text = without_controls(word)
    if screen.colours:
        return coloured(text, weight / largest, screen)
    return f"{text} ({100 * weight:.0f})" if weight >= SMALLEST else text
