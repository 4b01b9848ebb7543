"""Extraction of links from attention weights.

argmax       (i, j) where i = argmax_i W[j, i]                   Bahdanau et al. 2015, section 5.2.1
threshold    W[j, i] >= threshold
mutual       argmax of the row and of the column                 Jalili Sabet et al. 2020, section 2
transport    P[j, i] >= threshold * min(1/J, 1/I), with P the coupling of uniform units that is
             nearest to W: diag(u) W diag(v), rows summing to 1/J and columns to 1/I
                                                     Cuturi 2013; Dou and Neubig 2021, section 2.2
A row with more weight than the null threshold on no source unit has no link.

The best threshold of link probabilities needs no gold links. If link k is right with probability
p_k, then the links with p_k >= t have, up to terms of the order of one link,

    expected F(t) = 2 sum_{p_k >= t} p_k / (number of p_k >= t + sum_k p_k)

The best threshold is half of the best F (Lipton, Elkan and Narayanaswamy 2014, theorem 1). 1 - F is
the alignment error rate if all gold links are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from models.base.errors import unknown_name
from models.base.types import Link
from models.config import AlignConfig

Links = frozenset[Link]

ROUNDS = 25  # of Sinkhorn's algorithm
FLOOR = 1e-6  # smallest weight of a pair; with zeros there may be no coupling
LEAST = 0.1  # smallest threshold that `best_threshold` returns
UNLINKED = 1.0  # threshold of text without link probabilities


def extract(weights: Tensor, null: Tensor, config: AlignConfig) -> Links:
    """Return the links of weights (J, I), given the weight null (J,) on no source unit."""
    if config.extract not in EXTRACTS:
        raise unknown_name("extract", config.extract, EXTRACTS)
    strength = EXTRACTS[config.extract](weights) if weights.numel() else weights
    threshold = config.threshold if config.extract in THRESHOLDED else 0.0
    linked = (strength >= threshold) & (strength > 0)
    linked &= (null <= config.null_threshold).unsqueeze(-1)
    return frozenset((i, j) for j, i in linked.nonzero().tolist())


def diagonal(source_words: int, target_words: int) -> set[Link]:
    """Return the links of each target word with the source word at the same relative position.

    A baseline that ignores the words.
    """
    if not source_words:
        return set()
    return {((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words)}


def strongest(weights: Tensor) -> Tensor:
    """Return weights (.., J, I) with 0 for all but the largest of each row."""
    best = torch.zeros_like(weights, dtype=torch.bool)
    return weights * best.scatter_(-1, weights.argmax(-1, keepdim=True), True)


def mutual(weights: Tensor) -> Tensor:
    """Return weights (.., J, I) with 0 for all but the largest of both their row and column."""
    return strongest(weights) * (strongest(weights.mT).mT > 0)


def coupling(weights: Tensor) -> Tensor:
    """Return the coupling (.., J, I) of uniform units nearest to the weights (Sinkhorn)."""
    plan = weights.double().clamp_min(FLOOR)
    for _ in range(ROUNDS):
        plan /= plan.sum(-1, keepdim=True) * plan.shape[-2]
        plan /= plan.sum(-2, keepdim=True) * plan.shape[-1]
    return plan


THRESHOLDED = ("threshold", "transport")
EXTRACTS: dict[str, Callable[[Tensor], Tensor]] = {
    "argmax": strongest,
    "mutual": mutual,
    "threshold": lambda weights: weights,
    "transport": lambda weights: coupling(weights) * max(weights.shape[-2:]),  # mass / maximum
}


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
    return BestThreshold(max(float(scores[best]) / 2, LEAST), float(scores[best]))
