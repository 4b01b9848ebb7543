"""Weights to links.

argmax       (i, j) where i = argmax_i W[j, i]                   Bahdanau et al. 2015, section 5.2.1
threshold    W[j, i] >= threshold
mutual       argmax of the row and of the column                 Jalili Sabet et al. 2020, section 2
transport    P[j, i] >= threshold * min(1/J, 1/I), with P the coupling of uniform units that is
             nearest to W: diag(u) W diag(v), rows summing to 1/J and columns to 1/I
                                                     Cuturi 2013; Dou and Neubig 2021, section 2.2
A row with more weight than the null threshold on no source unit has no link.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from models.config import AlignConfig
from models.errors import unknown_name

Link = tuple[int, int]  # source unit, target unit, counted from 0
Links = frozenset[Link]

ROUNDS = 25  # of Sinkhorn's algorithm
FLOOR = 1e-6  # weight of a pair that has none: without it there may be no coupling


def extract(weights: Tensor, null: Tensor, config: AlignConfig) -> Links:
    """The links of weights (J, I), beside which null (J,) lies on no source unit."""
    linked = least(strengths(weights, config.extract), config)
    linked = linked & (null <= config.null_threshold).unsqueeze(-1)
    return frozenset((i, j) for j, i in linked.nonzero().tolist())


def strengths(weights: Tensor, name: str) -> Tensor:
    """How strongly (.., J, I) units are linked in one of the ways; 0 where they cannot be."""
    if name not in EXTRACTS:
        raise unknown_name("extract", name, EXTRACTS)
    return EXTRACTS[name](weights) if weights.numel() else weights


def least(strength: Tensor, config: AlignConfig) -> Tensor:
    """Whether (.., J, I) a strength makes a link."""
    asked = config.threshold if config.extract in THRESHOLDED else 0.0
    return (strength >= asked) & (strength > 0)


def strongest(weights: Tensor) -> Tensor:
    """The weights (.., J, I) that are the most of their row."""
    best = torch.zeros_like(weights, dtype=torch.bool)
    return weights * best.scatter_(-1, weights.argmax(-1, keepdim=True), True)


def mutual(weights: Tensor) -> Tensor:
    """The weights (.., J, I) that are the most of their row and of their column."""
    return strongest(weights) * (strongest(weights.mT).mT > 0)


def transported(weights: Tensor) -> Tensor:
    """How much (.., J, I) of the mass that they could share two units do share, 0 to 1."""
    return coupling(weights) * max(weights.shape[-2:])


def coupling(weights: Tensor) -> Tensor:
    """The coupling (.., J, I) of uniform units nearest to weights, by Sinkhorn's algorithm."""
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
    "transport": transported,
}
