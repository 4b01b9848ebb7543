"""Threshold of link probabilities that maximises the expected F score. It needs no gold links.

If link k is right with probability p_k, then the links with p_k >= t have

    expected F(t) = 2 sum_{p_k >= t} p_k / (number of p_k >= t + sum_k p_k)

up to terms of the order of one link. The best threshold is half of the best F (Lipton, Elkan and
Narayanaswamy 2014, theorem 1). 1 - F is the alignment error rate if all gold links are sure.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

LEAST = 0.1  # smallest threshold that is returned
NO_LINKS = 1.0  # threshold of text without link probabilities


class BestThreshold(NamedTuple):
    """A threshold and the F score that its links are expected to have."""

    threshold: float
    expected_f: float  # 0 to 1


def best_threshold(tables: Iterable[Tensor]) -> BestThreshold:
    """Return the threshold for the link probabilities (J, I) of some sentence pairs."""
    flat = torch.cat([torch.zeros(0), *(table.reshape(-1) for table in tables)]).double()
    ordered = flat.sort(descending=True).values
    if not len(ordered) or not ordered[0] > 0:
        return BestThreshold(NO_LINKS, 0.0)
    counts = torch.arange(1, len(ordered) + 1)
    scores = 2 * ordered.cumsum(0) / (counts + ordered.sum())
    best = int(scores.argmax())
    return BestThreshold(max(float(scores[best]) / 2, LEAST), float(scores[best]))
