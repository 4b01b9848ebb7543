"""Scores of labels equal their definitions."""

from __future__ import annotations

import pytest

from attncli.classify._scores import score_labels

GOLD = ["a", "a", "a", "b", "b", "c"]
FOUND = ["a", "a", "b", "b", "c", "c"]


def test_scores_equal_those_counted_by_hand() -> None:
    scores = score_labels(FOUND, GOLD)
    a, b, c = scores.labels
    assert scores.accuracy == pytest.approx(100 * 4 / 6) and scores.texts == 6
    assert a.precision == 100 and a.recall == pytest.approx(200 / 3)
    assert (b.precision, b.recall, b.f1) == (50, 50, 50)
    assert (c.precision, c.recall) == (50, 100)
    assert scores.macro_f1 == pytest.approx((80 + 50 + 200 / 3) / 3)
    assert scores.confusion == ((2, 1, 0), (0, 1, 1), (0, 0, 1))


def test_decomposed_labels_are_right() -> None:
    scores = score_labels(["cafe\u0301", "b"], ["caf\u00e9", "b"])
    assert scores.accuracy == 100
    assert [counts.label for counts in scores.labels] == ["b", "caf\u00e9"]


def test_a_missing_prediction_is_wrong_and_a_label_of_its_own() -> None:
    scores = score_labels(["a", ""], ["a", "a"])
    assert scores.accuracy == 50
    assert [counts.label for counts in scores.labels] == ["", "a"]
    assert scores.labels[0].precision == scores.labels[0].recall == 0


def test_ranks_of_the_gold_labels_give_hits_and_the_mean_reciprocal_rank() -> None:
    scores = score_labels(["a", "a", "b", "b"], ["a", "b", "b", "c"], [1, 2, 1, 0])
    assert [scores.hits(first) for first in (1, 2, 10)] == [50, 75, 75]
    assert scores.mrr == pytest.approx(100 * (1 + 1 / 2 + 1 + 0) / 4)
