"""Aligned pairs: units of both sides, and the weights and links between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from models.base.types import Link


class Panel(NamedTuple):
    """One alignment of a pair: by a model, or an external alignment."""

    name: str
    links: frozenset[Link]
    weights: NDArray[Any] | None = None  # (J, I) from 0 to 1
    heads: NDArray[Any] | None = None  # (L, H, J, I) of every layer and head

    def weight(self, i: int, j: int) -> float:
        """Return the weight of source unit i for target unit j; 1 for a link without weights."""
        return float((i, j) in self.links) if self.weights is None else float(self.weights[j][i])


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
    cells: NDArray[Any] | None = None  # (J, C) weights on the cells of an image

    @property
    def drawn(self) -> tuple[str, ...]:
        """The texts of a picture of the pair."""
        return self.source + self.target
