"""Scores of sequences and links equal their definitions and other tools."""

from __future__ import annotations

from typing import Any

import pytest

from attncli.data.alignments import PairLinks
from attncli.scoring.sequences import (
    error_rate,
    exact_match,
    rouge_l,
    rouge_n,
    rouge_words,
    score_alignments,
)
from attncli.scoring.translations import Scoring, line_statistics, metrics

SURE = frozenset({(0, 0), (1, 2)})
LINKS = PairLinks(SURE, SURE | {(1, 1)})


def test_exact_match_counts_any_reference() -> None:
    assert exact_match(["a b", "c", "d"], [["x", "a  b"], ["C"], ["d"]]) == pytest.approx(200 / 3)
    assert exact_match([], []) == 0


def test_error_rate_is_edits_over_reference_tokens() -> None:
    # 1 substitution of 3, 1 insertion of 1, 2 deletions of 2
    outputs, references = ["a x c", "d e", ""], [["a b c"], ["d"], ["f g"]]
    assert error_rate(outputs, references) == pytest.approx(100 * 4 / 6)
    assert error_rate(["ab"], [["ac"]], tokenize=list) == 50
    assert error_rate(["a b"], [["c d e", "a b"]]) == 0  # the closest reference
    assert error_rate([""], [[""]]) == 0


def test_rouge_l_is_f1_of_the_best_reference() -> None:
    # The example of Lin 2004, section 3.1: LCS 3 of 4 and 4, and LCS 2 of 4 and 4
    reference = "police killed the gunman"
    assert rouge_l(["police kill the gunman"], [[reference]]) == pytest.approx(75)
    assert rouge_l(["the gunman kill police"], [[reference]]) == pytest.approx(50)
    assert rouge_l(["Police, KILLED the gunman!"], [["x", reference]]) == pytest.approx(100)
    assert rouge_l(["a b"], [["a b c d"]]) == pytest.approx(100 * 2 * 1 * 0.5 / 1.5)
    assert rouge_words("state-of-the-art 日本") == ["state", "of", "the", "art", "日", "本"]


def test_rouge_n_is_f1_of_common_ngrams_of_the_best_reference() -> None:
    # 5 words and 7: the, cat, on, the, mat are common; of the pairs, on the and the mat
    output, reference = "The cat on the mat", "the old cat sat on the mat"
    assert rouge_n([output], [[reference]], 1) == pytest.approx(100 * 2 * 5 / (5 + 7))
    assert rouge_n([output], [["x", reference]], 2) == pytest.approx(100 * 2 * 2 / (4 + 6))
    assert rouge_n(["a a a"], [["a a"]], 1) == pytest.approx(100 * 2 * 2 / (3 + 2))  # clipped
    assert rouge_n([output, "x"], [[output], ["y"]], 2) == pytest.approx(50)
    assert rouge_n(["x", ""], [["x"], ["x"]], 2) == 0  # no pairs


def test_scores_of_links_by_hand() -> None:
    found = frozenset({(0, 0), (1, 1), (2, 2)})  # sure, possible, wrong
    scores = score_alignments([found], [LINKS])
    assert scores.precision == pytest.approx(2 / 3) and scores.recall == pytest.approx(1 / 2)
    assert scores.error_rate == pytest.approx(1 - (1 + 2) / (3 + 2))
    assert scores.f == pytest.approx(2 / (3 / 2 + 2)) and scores.links == 3


def test_sums_are_over_the_corpus_not_means_of_sentences() -> None:
    found = [frozenset({(0, 0)}), frozenset({(5, 5)})]
    scores = score_alignments(found, [LINKS, PairLinks(frozenset())])
    assert scores.precision == pytest.approx(1 / 2) and scores.recall == pytest.approx(1 / 2)
    assert scores.error_rate == pytest.approx(1 - (1 + 1) / (2 + 2))


def test_the_gold_itself_has_no_error_nor_has_a_part_that_is_sure() -> None:
    assert score_alignments([LINKS.sure], [LINKS]).error_rate == 0
    assert score_alignments([LINKS.possible], [LINKS]).error_rate == 0
    nothing = score_alignments([frozenset()], [LINKS])
    assert (nothing.error_rate, nothing.recall, nothing.f) == (1, 0, 0)


def test_scores_of_single_lines_add_up_to_those_of_sacrebleus_corpus() -> None:
    outputs = ["the cat sat on the mat", "a dog .", "", "one more line of text"]
    first = ["the cat sat on a mat", "a dog.", "nothing", "one more text"]
    second: list[Any] = ["the cat is on the mat", None, "no", "one line of text more"]
    for references in ([first], [first, second]):
        for ours, theirs in zip(metrics(Scoring()), metrics(Scoring()), strict=True):
            counts = line_statistics(ours, outputs, references)
            expected = theirs.corpus_score(outputs, references)
            assert str(ours._aggregate_and_compute(counts)) == str(expected)
            assert str(ours.get_signature()) == str(theirs.get_signature())
