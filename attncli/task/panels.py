"""What is drawn: aligned pairs, texts whose words have weights, samples of a training; colours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from attncli.task.runner import ShownResult
from models.core.types import Link
from models.text.alignment import Alignment

# colours of weights at equal distances from 0 to 1
STOPS = ((255, 255, 255), (198, 219, 239), (66, 146, 198), (8, 48, 107))
LINK = "#d55e00"  # the frame of a link


@dataclass(frozen=True, eq=False)
class AlignedPair(ShownResult):
    """A text and its translation with their alignments; text formats write the first one."""

    number: int  # from 1
    panels: tuple[Alignment, ...]  # by each model, or of each file
    note: str = ""  # why there is no alignment; empty if there is one
    ending: str = "\n"  # of its line
    text: str = ""  # the translation, as it was given
    key: str = "attention"  # what the colours of a picture mean

    @property
    def source(self) -> tuple[str, ...]:
        """The units of the source."""
        return self.panels[0].source

    @property
    def target(self) -> tuple[str, ...]:
        """The units of the translation."""
        return self.panels[0].target

    @property
    def links(self) -> frozenset[Link]:
        """The links of the first alignment."""
        return self.panels[0].links

    @property
    def weights(self) -> Any:
        """The weights (J, I) of the first alignment; see `Alignment`."""
        return self.panels[0].weights

    @property
    def score(self) -> float | None:
        """Log-probability per target token, if it was computed."""
        first = self.panels[0]
        return None if first.note or math.isnan(first.score) else first.score

    @property
    def alignment(self) -> AlignedPair:
        """This result, as the other results have it."""
        return self

    @property
    def drawn(self) -> tuple[str, ...]:
        """The texts of a picture of the pair."""
        return self.panels[0].axis + self.target


class WeightRow(NamedTuple):
    """A weight for each word."""

    name: str  # of the head; empty if there is only one row
    weights: tuple[float, ...]

    @property
    def shades(self) -> list[float]:
        """The weights as shares of the largest, from 0 to 1."""
        largest = max(self.weights, default=0.0) or 1.0
        return [weight / largest for weight in self.weights]


class WeightedText(NamedTuple):
    """The words of a line, their weights, and the label of the line."""

    number: int  # of the line, from 1
    words: tuple[str, ...]
    rows: tuple[WeightRow, ...]
    label: str = ""  # with its probability
    note: str = ""  # why there is no label; empty if there is one

    @property
    def title(self) -> str:
        """The number of the line, and its label or note."""
        return f"{self.number}  {self.label or self.note}".rstrip()

    @property
    def drawn(self) -> tuple[str, ...]:
        """The texts of a picture of the line."""
        return (*self.words, self.title)


class ShownExample(NamedTuple):
    """A dev example and the model's output for it."""

    source: str  # a text, or the name of an image
    reference: str
    output: str
    image: str = ""  # data URL of a small copy of the image; "" for texts
    attention: str = ""  # HTML of an attention map; "" for none


class SampledEvaluation(NamedTuple):
    """The samples of one evaluation."""

    step: int  # updates done
    score: str  # with its name, as in "BLEU 31.20"
    samples: tuple[ShownExample, ...]


def spread(total: int, count: int) -> list[int]:
    """Return at most `count` indices below `total`, evenly spaced from 0."""
    count = min(count, total)
    return [number * total // count for number in range(count)]


class Shade(NamedTuple):
    """A colour, and the colour of text on it."""

    red: int
    green: int
    blue: int

    @property
    def code(self) -> str:
        """Return the colour as HTML writes it."""
        return f"#{self.red:02x}{self.green:02x}{self.blue:02x}"

    @property
    def dark(self) -> bool:
        """Return True if text on this colour must be light."""
        return 0.299 * self.red + 0.587 * self.green + 0.114 * self.blue < 140


def shade(weight: float) -> Shade:
    """Return the colour of a weight from 0 to 1; a larger weight is darker."""
    place = min(max(weight, 0.0), 1.0) * (len(STOPS) - 1)
    before = min(int(place), len(STOPS) - 2)
    part = place - before
    low, high = STOPS[before], STOPS[before + 1]
    return Shade(*(round(a + part * (b - a)) for a, b in zip(low, high, strict=True)))
