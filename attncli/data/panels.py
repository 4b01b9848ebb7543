"""What is drawn of an alignment: units of both sides, and the weights and links between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from attncli.data.links import Link


class Panel(NamedTuple):
    """One view of a pair: a model's, or another program's."""

    name: str
    links: frozenset[Link]
    weights: NDArray[Any] | None = None  # (J, I) from 0 to 1
    heads: NDArray[Any] | None = None  # (L, H, J, I) of every layer and head

    def weight(self, i: int, j: int) -> float:
        """How much target unit j looks at source unit i; 1 for a link that has no weights."""
        return float((i, j) in self.links) if self.weights is None else float(self.weights[j][i])


class AlignedPair(NamedTuple):
    """A source, its translation, and the views of them; the first is the one that is written."""

    number: int  # from 1
    source: tuple[str, ...]  # I units
    target: tuple[str, ...]  # J units
    panels: tuple[Panel, ...]
    score: float | None = None  # log-probability of a target piece
    note: str = ""  # why there is no alignment, where there is none
    ending: str = "\n"  # of its line
