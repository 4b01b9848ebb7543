"""The threshold of link probabilities, chosen without gold links."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

MIN_THRESHOLD = 0.1  # smallest threshold that `best_threshold` returns
UNLINKED = 1.0  # threshold of text without link probabilities


class BestThreshold(NamedTuple):
    """A threshold and the F score that its links are expected to have."""

    threshold: float
    expected_f: float  # 0 to 1


def best_threshold(tables: Iterable[Tensor]) -> BestThreshold:
    """Return the threshold for the link probabilities (J, I) of some sentence pairs."""
    flat = torch.cat([torch.zeros(0), *(table.reshape(-1) for table in tables)]).double()
    ordered = flat.sort(descending=True).values
    if not len(ordered) or not ordered[0] > 0:
        return BestThreshold(UNLINKED, 0.0)
    counts = torch.arange(1, len(ordered) + 1)
    scores = 2 * ordered.cumsum(0) / (counts + ordered.sum())
    best = int(scores.argmax())
    return BestThreshold(max(float(scores[best]) / 2, MIN_THRESHOLD), float(scores[best]))
