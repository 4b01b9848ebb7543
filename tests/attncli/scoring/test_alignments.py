"""Alignment scores on examples worked by hand."""

from __future__ import annotations

import pytest

from attncli.data.alignments import PairLinks
from attncli.scoring.sequences import score_alignments

SURE = frozenset({(0, 0), (1, 2)})
GOLD = PairLinks(SURE, SURE | {(1, 1)})


def test_scores_by_hand() -> None:
    found = frozenset({(0, 0), (1, 1), (2, 2)})  # sure, possible, wrong
    scores = score_alignments("x", [found], [GOLD])
    assert scores.precision == pytest.approx(2 / 3) and scores.recall == pytest.approx(1 / 2)
    assert scores.error_rate == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert scores.f == pytest.approx(2 / (3 / 2 + 2)) and scores.links == 3


def test_sums_are_over_the_corpus_not_means_of_sentences() -> None:
    found = [frozenset({(0, 0)}), frozenset({(5, 5)})]
    scores = score_alignments("x", found, [GOLD, PairLinks(frozenset())])
    assert scores.precision == pytest.approx(1 / 2) and scores.recall == pytest.approx(1 / 2)
    assert scores.error_rate == pytest.approx(1 - (1 + 1) / (2 + 2))


def test_the_gold_itself_has_no_error_nor_has_a_part_that_is_sure() -> None:
    assert score_alignments("x", [GOLD.sure], [GOLD]).error_rate == 0
    assert score_alignments("x", [GOLD.possible], [GOLD]).error_rate == 0
    nothing = score_alignments("x", [frozenset()], [GOLD])
    assert (nothing.error_rate, nothing.recall, nothing.f) == (1, 0, 0)
