"""An alignment: units of a source and of its translation, with links and weights between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

    from models.core.types import Link
    from models.text.lexicon import UnitEntry

MIN_DRAWN_WEIGHT = 0.005  # a cell with a smaller weight is drawn empty


class Alignment(NamedTuple):
    """Units of a source and of its translation, and the links between them."""

    source: tuple[str, ...]  # I units
    target: tuple[str, ...]  # J units
    weights: Any = None  # tensor or array (J, I): of each target unit on each source unit
    links: frozenset[Link] = frozenset()  # (source unit, target unit), counted from 0
    score: float = math.nan  # mean log-probability of a target token; NaN: not computed
    null: Tensor | None = None  # (J,): weight on no source unit
    note: str = ""  # reason why there are no weights; empty if there are
    inputs: tuple[str, ...] = ()  # of a model of several inputs: that of each source unit
    cells: Tensor | None = None  # (J, C): weight of each target unit on each cell of the image
    entries: tuple[UnitEntry, ...] = ()  # of a lexicon, that the model read in the source
    name: str = ""  # of the model or file, where several alignments are shown
    shown: str = ""  # model, layer, head and step of the weights
    heads: np.ndarray | None = None  # (L, H, J, I) of every layer and head
    source_heads: np.ndarray | None = None  # (L, H, I, I) self-attention of the encoder
    target_heads: np.ndarray | None = None  # (L, H, J, J) self-attention of the decoder

    @property
    def axis(self) -> tuple[str, ...]:
        """The source units as they are drawn: an entry of a lexicon is named."""
        return labelled(self.source, self.entries)

    @property
    def title(self) -> str:
        """Return what a picture states about the alignment."""
        return self.shown or self.name

    @property
    def table(self) -> np.ndarray | None:
        """The weights as an array; None if there are none."""
        import numpy

        return None if self.note or self.weights is None else numpy.asarray(self.weights)

    def weight(self, i: int, j: int) -> float:
        """Return the weight of source unit i for target unit j; 1 for a link without weights."""
        table = self.table
        return float((i, j) in self.links) if table is None else float(table[j][i])

    @property
    def framed(self) -> frozenset[Link]:
        """Return the links that have a frame: those whose cell is not empty."""
        return frozenset(link for link in self.links if self.has_frame(*link))

    def has_frame(self, i: int, j: int) -> bool:
        """Return True if source unit i and target unit j are linked and their cell is not empty."""
        return (i, j) in self.links and self.weight(i, j) >= MIN_DRAWN_WEIGHT


def labelled(units: Sequence[str], entries: Sequence[UnitEntry]) -> tuple[str, ...]:
    """Return units with the entries that were read in their places."""
    labels: dict[int, list[str]] = {}
    for one in entries:
        labels.setdefault(one.unit, []).append(one.label)
    return tuple(", ".join(labels.get(n, [unit])) for n, unit in enumerate(units))
