"""Scores of sequences, labels and links equal their definitions, counted by hand."""

from __future__ import annotations

import pytest

from attncli.data.alignments import PairLinks
from attncli.scoring.caption_metrics import rouge_l, rouge_n, rouge_words
from attncli.scoring.sequences import error_rate, exact_match, score_alignments, score_labels

GOLD = ["a", "a", "a", "b", "b", "c"]
FOUND = ["a", "a", "b", "b", "c", "c"]
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
