"""The threshold that maximises the expected F score."""

from __future__ import annotations

import pytest
import torch

from attncli.align_train._threshold import best_threshold


def expected_f(tables: list[torch.Tensor], threshold: float) -> float:
    """Return the expected F score of the links with at least some probability."""
    flat = torch.cat([table.flatten() for table in tables]).double()
    linked = flat[flat >= threshold]
    return float(2 * linked.sum() / (len(linked) + flat.sum()))


def test_no_other_threshold_has_a_better_expected_score() -> None:
    torch.manual_seed(1)
    tables = [torch.rand(n, 7) ** 6 for n in (3, 5, 9)]
    found = best_threshold(tables)
    assert expected_f(tables, found.threshold) == pytest.approx(found.expected_f)
    assert found.threshold == pytest.approx(found.expected_f / 2)
    others = [expected_f(tables, n / 200) for n in range(1, 200)]
    assert found.expected_f >= max(score for score in others if score == score)


def test_no_probabilities_give_no_links() -> None:
    for tables in ([], [torch.zeros(0, 3)], [torch.zeros(2, 2)]):
        assert best_threshold(tables) == (1.0, 0.0)
