"""A text whose words have weights, as it is drawn: one row of weights, or one for each head."""

from __future__ import annotations

from typing import NamedTuple

from attncli.data.lines import ClassifiedLine


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


def weighted_text(outcome: ClassifiedLine) -> WeightedText:
    """Return a classified line as it is drawn."""
    number, result = outcome.line.number, outcome.result
    if result is None or not result.labels:
        return WeightedText(number, (), (), note=outcome.note)
    label, probability = result.labels[0]
    rows = [WeightRow(f"head {n}", weights) for n, weights in enumerate(result.heads, 1)]
    mean = WeightRow("", tuple(weight for _, weight in result.words))
    words = tuple(word for word, _ in result.words)
    return WeightedText(
        number, words, tuple(rows) or (mean,), f"{label} ({100 * probability:.0f} %)"
    )
