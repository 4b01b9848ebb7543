"""Measures of relevances: rank correlation, and the probability that erasure takes or leaves.

    comprehensiveness = p(y | x) - p(y | x without the top share of units)
    sufficiency       = p(y | x) - p(y | the top share of units alone)

DeYoung et al. 2020, eq. 1 and 2; the mean over the shares (their eq. 3). A faithful order has a
high comprehensiveness and a low sufficiency.

The deletion curve is p(y) after the units were erased in their order; the insertion curve is p(y)
after they were added to an input without units. Petsiuk, Das and Saenko 2018, section 3.3. A
faithful order has a small area below its deletion curve and a large one below its insertion curve.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

SHARES = (0.01, 0.05, 0.1, 0.2, 0.5)  # of the units, at least one unit (DeYoung et al. 2020)
POINTS = 11  # of a curve: 0, 10, .. 100 % of the units
Probabilities = Callable[[Tensor], Tensor]  # kept units (N, I) to the words' probabilities (N, J)


class Measure(NamedTuple):
    """One measure of an order of units."""

    name: str
    values: Tensor  # (J,) of each word
    curve: Tensor | None = None  # (J, P), if the measure is the area below a curve


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Return Spearman's rank correlation of two vectors (I,); NaN if one of them is constant.

    Equal values have their mean rank. Source: Spearman 1904.
    """
    ranked = torch.stack([ranks(one), ranks(other)])
    return float(torch.corrcoef(ranked)[0, 1]) if one.numel() > 1 else float("nan")


def ranks(values: Tensor) -> Tensor:
    """Return the ranks (I,) of values, from 1; equal values have their mean rank."""
    table = values[None].double()
    less, equal = (table < table.T).sum(1), (table == table.T).sum(1)
    return less + (equal + 1) / 2


def faithfulness(
    orders: Sequence[Tensor], probabilities: Probabilities
) -> list[tuple[Measure, ...]]:
    """Return comprehensiveness and sufficiency of each of several relevances (J, I)."""
    units = orders[0].shape[1]
    counts = [max(1, round(share * units)) for share in SHARES]
    full, removed, kept = _erased(orders, counts, probabilities)
    return [
        (
            Measure("comprehensiveness", (full[:, None] - less).mean(1)),
            Measure("sufficiency", (full[:, None] - rest).mean(1)),
        )
        for less, rest in zip(removed, kept, strict=True)
    ]


def curves(orders: Sequence[Tensor], probabilities: Probabilities) -> list[tuple[Measure, ...]]:
    """Return the deletion and the insertion curve of each of several relevances (J, I)."""
    units = orders[0].shape[1]
    counts = [round(units * point / (POINTS - 1)) for point in range(POINTS)]
    _, removed, kept = _erased(orders, counts, probabilities)
    return [
        (Measure("deletion", area(less), less), Measure("insertion", area(rest), rest))
        for less, rest in zip(removed, kept, strict=True)
    ]


def area(curve: Tensor) -> Tensor:
    """Return the area (J,) below curves (J, P) over the interval from 0 to 1."""
    return torch.trapezoid(curve, dx=1 / (curve.shape[1] - 1), dim=1)


def _erased(
    orders: Sequence[Tensor], counts: Sequence[int], probabilities: Probabilities
) -> tuple[Tensor, Tensor, Tensor]:
    """Return p(y | x) (J,), and p(y) without and with only the first units, (M, J, P) each.

    Every input that occurs several times is computed once.
    """
    words, units = orders[0].shape
    top = torch.stack([first_units(order, counts) for order in orders])  # (M, J, P, I)
    every = torch.ones(1, units, dtype=torch.bool)
    masks = torch.cat([every, (~top).flatten(0, 2), top.flatten(0, 2)])
    different, places = masks.unique(dim=0, return_inverse=True)
    found = probabilities(different)[places]  # (N, J)
    each = found[1:].view(2, len(orders), words, len(counts), words)
    removed, kept = each.diagonal(dim1=2, dim2=4).movedim(-1, 2)  # (2, M, J, P)
    return found[0], removed, kept


def first_units(relevances: Tensor, counts: Sequence[int]) -> Tensor:
    """Return True for the most relevant units of each word, (J, P, I), for P counts."""
    order = relevances.argsort(dim=1, descending=True, stable=True)
    place = torch.empty_like(order).scatter_(
        1, order, torch.arange(order.shape[1]).expand_as(order)
    )
    return place[:, None] < torch.tensor(counts)[None, :, None]
