"""Weights to links.

argmax       (i, j) where i = argmax_i W[j, i]                   Bahdanau et al. 2015, section 5.2.1
threshold    W[j, i] >= threshold
mutual       argmax of the row and of the column                 Jalili Sabet et al. 2020, section 2
transport    P[j, i] >= threshold * min(1/J, 1/I), with P the coupling of uniform words that is
             nearest to W: diag(u) W diag(v), rows summing to 1/J and columns to 1/I
                                                     Cuturi 2013; Dou and Neubig 2021, section 2.2
A row with more weight than the null threshold on no source unit has no link.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.config import AlignConfig
from models.errors import unknown_name

Link = tuple[int, int]  # source unit, target unit, counted from 0
Links = frozenset[Link]

ROUNDS = 50  # of Sinkhorn's algorithm
FLOOR = 1e-6  # weight of a pair that has none: without it there may be no coupling


def extract(weights: Tensor, null: Tensor, config: AlignConfig) -> Links:
    """The links of weights (J, I), of which null (J,) stands beside them."""
    if config.extract not in EXTRACTS:
        raise unknown_name("extract", config.extract, EXTRACTS)
    if 0 in weights.shape:
        return frozenset()
    linked = EXTRACTS[config.extract](weights, config.threshold)  # (J, I)
    linked = linked & (null <= config.null_threshold).unsqueeze(1)
    return frozenset((i, j) for j, i in linked.nonzero().tolist())


def strongest(weights: Tensor, threshold: float = 0.0) -> Tensor:
    """Whether (J, I) a source unit has the most of a target unit's weight, if there is any."""
    best = torch.zeros_like(weights, dtype=torch.bool)
    return best.scatter_(1, weights.argmax(1, keepdim=True), True) & (weights > 0)


def heavy(weights: Tensor, threshold: float) -> Tensor:
    """Whether (J, I) a weight reaches the threshold."""
    return (weights >= threshold) & (weights > 0)


def mutual(weights: Tensor, threshold: float = 0.0) -> Tensor:
    """Whether (J, I) a weight is the most of its row and of its column."""
    return strongest(weights) & strongest(weights.T).T


def transported(weights: Tensor, threshold: float) -> Tensor:
    """Whether (J, I) two units share as much of their mass as the threshold says."""
    most = min(1 / size for size in weights.shape)
    return coupling(weights) >= threshold * most


def coupling(weights: Tensor) -> Tensor:
    """The coupling (J, I) of uniform units nearest to weights, by Sinkhorn's algorithm."""
    plan = weights.double().clamp_min(FLOOR)
    for _ in range(ROUNDS):
        plan = plan / plan.sum(1, keepdim=True) / plan.shape[0]
        plan = plan / plan.sum(0, keepdim=True) / plan.shape[1]
    return plan


EXTRACTS = {
    "argmax": strongest,
    "threshold": heavy,
    "mutual": mutual,
    "transport": transported,
}
