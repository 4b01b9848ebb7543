"""Utilities of minimum Bayes risk equal those of sacreBLEU."""

from __future__ import annotations

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from models.config import UTILITIES as NAMES
from models.inference.search.utilities import UTILITIES, WORD, bleu, chrf

TEXTS = [
    "The house is small .",
    "The house is very small .",
    "A small house , a small garden , a small dog .",
    "houses",
    "a",
    "家は小さい。",
]


def test_each_utility_has_a_name_among_the_settings() -> None:
    assert tuple(UTILITIES) == NAMES


def test_chrf_is_that_of_sacrebleu() -> None:
    metric = CHRF()
    found = chrf(TEXTS)
    for row, text in enumerate(TEXTS):
        for column, reference in enumerate(TEXTS):
            expected = metric.sentence_score(text, [reference]).score / 100
            assert found[row, column] == pytest.approx(expected), (text, reference)


def test_bleu_is_that_of_sacrebleu_with_one_added() -> None:
    metric = BLEU(tokenize="none", smooth_method="add-k", smooth_value=1, effective_order=False)
    texts = [text for text in TEXTS if len(text.split()) >= 4]
    found = bleu(texts)
    for row, text in enumerate(texts):
        for column, reference in enumerate(texts):
            score = metric.sentence_score(" ".join(WORD.findall(text)), [reference]).score
            assert found[row, column] == pytest.approx(score / 100), (text, reference)


@pytest.mark.parametrize("name", UTILITIES)
def test_a_text_is_most_similar_to_itself(name: str) -> None:
    found = UTILITIES[name]([*TEXTS, ""])
    assert found.shape == (7, 7) and found.min() >= 0
    for row in range(6):
        assert found[row, row] == pytest.approx(1) == pytest.approx(found[row].max())
    assert found[6, 0] == found[0, 6] == 0


@pytest.mark.parametrize("name", UTILITIES)
def test_an_empty_text_alone_has_a_similarity(name: str) -> None:
    assert 0 <= UTILITIES[name]([""])[0, 0] <= 1
