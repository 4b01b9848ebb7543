"""Heat map of a sample, for the page of a run's samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from attncli.data.panels import AlignedPair, Panel
from attncli.render.alignment.svg import svg
from models.base.types import Link

LONGEST = 30  # words on a side


def heat_map(
    source: Sequence[str],
    target: Sequence[str],
    weights: NDArray[np.float32],
    links: frozenset[Link] = frozenset(),
) -> str:
    """Return a heat map as SVG; "" if a side is empty or has more than LONGEST words.

    weights: (J, I) of each target word on each source word.
    """
    if not (0 < len(source) <= LONGEST and 0 < len(target) <= LONGEST):
        return ""
    pair = AlignedPair(1, tuple(source), tuple(target), (Panel("", links, weights),))
    return svg([pair]).decode()
