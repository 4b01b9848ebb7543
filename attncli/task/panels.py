"""What is drawn: aligned pairs, texts whose words have weights, and samples of a training run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np

    from models.core.types import Link
    from models.text.lexicon import UnitEntry

MIN_DRAWN_WEIGHT = 0.005  # a cell with a smaller weight is drawn empty


class Panel(NamedTuple):
    """One alignment of a pair: by a model, or an external alignment."""

    name: str
    links: frozenset[Link]
    weights: np.ndarray | None = None  # (J, I) from 0 to 1
    heads: np.ndarray | None = None  # (L, H, J, I) of every layer and head
    shown: str = ""  # model, layer, head and step of the weights
    source_heads: np.ndarray | None = None  # (L, H, I, I) self-attention of the encoder
    target_heads: np.ndarray | None = None  # (L, H, J, J) self-attention of the decoder

    @property
    def title(self) -> str:
        """Return what a picture of the panel states about it."""
        return self.shown or self.name

    def weight(self, i: int, j: int) -> float:
        """Return the weight of source unit i for target unit j; 1 for a link without weights."""
        return float((i, j) in self.links) if self.weights is None else float(self.weights[j][i])

    @property
    def framed(self) -> frozenset[Link]:
        """Return the links that have a frame: those whose cell is not empty."""
        return frozenset(link for link in self.links if self.has_frame(*link))

    def has_frame(self, i: int, j: int) -> bool:
        """Return True if source unit i and target unit j are linked and their cell is not empty."""
        return (i, j) in self.links and self.weight(i, j) >= MIN_DRAWN_WEIGHT


class AlignedPair(NamedTuple):
    """A source, its translation, and their alignments; text formats write the first one."""

    number: int  # from 1
    source: tuple[str, ...]  # I units
    target: tuple[str, ...]  # J units
    panels: tuple[Panel, ...]
    score: float | None = None  # log-probability per target token
    note: str = ""  # why there is no alignment; empty if there is one
    ending: str = "\n"  # of its line
    inputs: tuple[str, ...] = ()  # of a model of several inputs: that of each source unit
    cells: np.ndarray | None = None  # (J, C) weights on the cells of an image
    key: str = "attention"  # what the colours of a picture mean
    entries: tuple[UnitEntry, ...] = ()  # of a lexicon, that the model read in the source

    @property
    def axis(self) -> tuple[str, ...]:
        """The source units as they are drawn: an entry of a lexicon is named."""
        return labelled(self.source, self.entries)

    @property
    def drawn(self) -> tuple[str, ...]:
        """The texts of a picture of the pair."""
        return self.axis + self.target


def labelled(units: Sequence[str], entries: Sequence[UnitEntry]) -> tuple[str, ...]:
    """Return units with the entries that were read in their places."""
    labels: dict[int, list[str]] = {}
    for one in entries:
        labels.setdefault(one.unit, []).append(one.label)
    return tuple(", ".join(labels.get(n, [unit])) for n, unit in enumerate(units))


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
