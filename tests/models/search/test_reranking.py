"""Reranking: chrF is sacreBLEU's, the risk that of plain loops, and no output is a new one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
from sacrebleu.metrics.chrf import CHRF

from models.core.errors import ConfigurationError
from models.core.registry import find, names
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.translator import Translator
from models.search.reranking import chrf, ngrams_of

TEXTS = ["the dog", "a red house and the old dog", "she sees it"]
OUTPUTS = ["der alte Hund", "ein alter Hund", "der Hund", "Katzen", "x", "der  alte Hund ."]


@pytest.mark.parametrize("output", [*OUTPUTS, ""])
@pytest.mark.parametrize("reference", OUTPUTS)
def test_chrf_is_that_of_sacrebleu(output: str, reference: str) -> None:
    expected = CHRF().sentence_score(output, [reference]).score
    assert 100 * chrf(ngrams_of(output), ngrams_of(reference)) == pytest.approx(expected)


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_the_first_output_has_the_highest_expected_chrf(method: str) -> None:
    found = [
        Hypothesis(text, score=-n, log_prob=-n / 3, tokens=(), ids=(n,))
        for n, text in enumerate(OUTPUTS)
    ]

    def gain(own: Hypothesis) -> float:
        total = 0.0
        for other in found:
            share = 1.0 if method == "sample" else math.exp(other.log_prob)
            total += share * CHRF().sentence_score(own.text, [other.text]).score
        return total

    ranked = find("rerank", "mbr")(SearchConfig(method=method)).ranked(found)
    assert ranked == sorted(found, key=gain, reverse=True) != found


@pytest.mark.parametrize("name", names("rerank"))
@pytest.mark.parametrize("method", ["beam", "sample"])
def test_the_outputs_are_those_of_the_search(
    name: str, method: str, tiny_translator: Translator
) -> None:
    plain = SearchConfig(method=method, beam=6, max_ratio=1, max_extra=5)
    reranked = replace(plain, rerank=name)
    known = tiny_translator.translate(TEXTS, search=replace(plain, nbest=6))
    every = tiny_translator.translate(TEXTS, search=replace(reranked, nbest=6))
    if method == "sample":
        for one, other in zip(known, every, strict=True):
            assert sorted(one.hypotheses) == sorted(other.hypotheses)
    for nbest in (1, 3):  # more outputs never change the first ones; alone = in a batch
        search = replace(reranked, nbest=nbest)
        for text, one in zip(TEXTS, every, strict=True):
            [alone] = tiny_translator.translate([text], search=search)
            assert [h.text for h in alone.hypotheses] == [h.text for h in one.hypotheses[:nbest]]


@pytest.mark.parametrize("wrong", [{"method": "greedy"}, {"beam": 1}, {"beam": 2, "nbest": 3}])
def test_a_list_without_a_choice_is_refused(
    wrong: dict[str, Any], tiny_translator: Translator
) -> None:
    with pytest.raises(ConfigurationError, match="search.rerank=mbr among"):
        tiny_translator.translate(TEXTS, search=SearchConfig(rerank="mbr", **wrong))
