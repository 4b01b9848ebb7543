"""Exact match, error rate and ROUGE equal their definitions."""

from __future__ import annotations

import pytest

from attncli.scoring.caption_metrics import rouge_l, rouge_n, rouge_words
from attncli.scoring.sequences import error_rate, exact_match


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
