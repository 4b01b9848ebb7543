"""Measures of relevances equal their equations, on models whose probabilities are known."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.explain.explanation import (
    SHARES,
    area,
    curves,
    faithfulness,
    first_units,
    rank_correlation,
    ranks,
)

PARTS = torch.tensor(
    [[0.4, 0.1, 0.3, 0.2], [0.0, 0.5, 0.2, 0.3]]
)  # p(y) is the sum of what is kept


def additive(kept: Tensor) -> Tensor:
    """Return probabilities (N, J) to which every kept unit adds its part."""
    return kept.float() @ PARTS.T


def test_rank_correlation_depends_on_the_order_alone() -> None:
    values = torch.tensor([0.1, 3.0, -2.0, 0.5])
    assert rank_correlation(values, values.exp()) == pytest.approx(1)
    assert rank_correlation(values, -values) == pytest.approx(-1)
    # 1 - 6 sum d^2 / (n (n^2 - 1)) without ties, Spearman 1904
    assert rank_correlation(torch.tensor([1.0, 2, 3, 4]), torch.tensor([2.0, 1, 3, 4])) == (
        pytest.approx(1 - 6 * 2 / 60)
    )
    assert math.isnan(rank_correlation(values, torch.ones(4)))
    assert ranks(torch.tensor([3.0, 1.0, 3.0, 7.0])).tolist() == [2.5, 1.0, 2.5, 4.0]  # ties


def test_the_first_units_are_the_most_relevant_and_equal_ones_stay_in_order() -> None:
    relevances = torch.tensor([[0.1, 0.5, 0.5, -1.0]])
    assert first_units(relevances, [1, 2])[0].int().tolist() == [[0, 1, 0, 0], [0, 1, 1, 0]]


def test_faithfulness_of_the_true_parts_is_their_sum() -> None:
    [(comprehensiveness, sufficiency)] = faithfulness([PARTS], additive)
    best = PARTS.sort(1, descending=True).values
    expected = torch.stack([best[:, : max(1, round(share * 4))].sum(1) for share in SHARES]).mean(0)
    torch.testing.assert_close(comprehensiveness.values, expected)
    torch.testing.assert_close(sufficiency.values, PARTS.sum(1) - expected)


def test_each_order_has_its_own_measures() -> None:
    together = faithfulness([PARTS, -PARTS], additive)
    for found, alone in zip(together, (PARTS, -PARTS), strict=True):
        [expected] = faithfulness([alone], additive)
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(one.values, other.values)
    assert (together[0][0].values > together[1][0].values).all()


def test_curves_begin_and_end_where_they_must() -> None:
    [(deletion, insertion)] = curves([PARTS], additive)
    assert deletion.curve is not None and insertion.curve is not None
    torch.testing.assert_close(deletion.curve[:, 0], PARTS.sum(1))
    torch.testing.assert_close(deletion.curve[:, -1], torch.zeros(2))
    torch.testing.assert_close(
        deletion.curve + insertion.curve, PARTS.sum(1)[:, None].expand(2, 11)
    )
    torch.testing.assert_close(insertion.values, area(insertion.curve))
    assert float(area(torch.linspace(0, 1, 11)[None])) == pytest.approx(0.5)
