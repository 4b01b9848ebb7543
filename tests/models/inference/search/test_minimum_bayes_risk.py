"""Minimum Bayes risk: the candidate that is most similar to the others in expectation."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch

from attncli.embedded.grammar import Pair
from models import load_captioner, load_translator
from models.base.types import Hypothesis
from models.catalogue.installed import BOX
from models.config import SearchConfig
from models.inference.captioner import Captioner
from models.inference.ensemble_captioner import EnsembleCaptioner
from models.inference.search.minimum_bayes_risk import (
    by_expected_similarity,
    candidate_search,
    weights,
)
from models.inference.search.utilities import UTILITIES
from models.inference.translator import Translator

MBR = SearchConfig(mbr="chrf", candidates=6)
SAMPLES = dataclasses.replace(MBR, method="sample", nbest=2)


def candidate(text: str, probability: float) -> Hypothesis:
    log_prob = math.log(probability)
    return Hypothesis(text, log_prob, log_prob, (), ())


def chosen(*candidates: Hypothesis, search: SearchConfig = MBR) -> str:
    return by_expected_similarity(candidates, search)[0].text


ALIKE = [candidate("a dog runs home", 0.2), candidate("the dog runs home", 0.2)]
OTHER = candidate("it is raining", 0.3)


def test_two_similar_outputs_outweigh_a_more_probable_one() -> None:
    assert chosen(OTHER, *ALIKE) in [one.text for one in ALIKE]


def test_weights_are_scaled_probabilities_and_those_of_samples_equal() -> None:
    given = [candidate("a", 0.4), candidate("b", 0.1)]
    assert weights(given, MBR) == pytest.approx([2 / 3, 1 / 3])  # by square roots
    assert weights(given, SAMPLES) == [0.5, 0.5]


@pytest.mark.parametrize("utility", UTILITIES)
def test_the_score_is_the_expected_similarity_in_plain_loops(utility: str) -> None:
    search = dataclasses.replace(MBR, mbr=utility, nbest=3)
    given = [OTHER, *ALIKE]
    similarity, of = UTILITIES[utility]([one.text for one in given]), weights(given, search)
    expected = {
        one.text: sum(of[n] * float(similarity[row, n]) for n in range(3))
        for row, one in enumerate(given)
    }
    found = by_expected_similarity(given, search)
    assert {one.text: one.score for one in found} == pytest.approx(expected)
    assert [one.score for one in found] == pytest.approx(sorted(expected.values(), reverse=True))
    assert [one.log_prob for one in found if one.text == OTHER.text] == [OTHER.log_prob]


def test_one_candidate_is_the_output() -> None:
    assert by_expected_similarity([OTHER], MBR)[0]._replace(score=OTHER.score) == OTHER


def test_of_equal_outputs_the_first_is_chosen() -> None:
    first = candidate("the same", 0.4)
    assert by_expected_similarity([first, candidate("the same", 0.3)], MBR)[0].log_prob == (
        first.log_prob
    )


def test_without_it_or_with_greedy_search_nothing_changes() -> None:
    for search in (SearchConfig(nbest=2), SearchConfig(method="greedy", mbr="bleu")):
        assert candidate_search(search) == search
        assert by_expected_similarity([OTHER, *ALIKE], search) == (OTHER, *ALIKE)


def test_the_outputs_are_candidates_of_the_search(
    tiny_translator: Translator, tiny_pairs: list[Pair]
) -> None:
    texts = [pair.source for pair in tiny_pairs[:8]]
    several = tiny_translator.translate(texts, search=SearchConfig(beam=6, nbest=6))
    for found, candidates in zip(
        tiny_translator.translate(texts, search=MBR), several, strict=True
    ):
        assert found.hypotheses == by_expected_similarity(candidates.hypotheses, MBR)


def test_ctranslate2_has_the_outputs_of_torch() -> None:
    pytest.importorskip("ctranslate2")
    from models.inference.ctranslate2.translator import CTranslate2Translator

    folder, texts = BOX / "grammar-en-de", ["A dog runs.", "The woman sees a cat."]
    ours = load_translator(folder).translate(texts, search=MBR)
    theirs = CTranslate2Translator.read(folder).translate(texts, search=MBR)
    assert [one.text for one in ours] == [one.text for one in theirs]


def test_captions_are_chosen_among_candidates_and_the_maps_are_those_of_the_chosen() -> None:
    captioner: Captioner = load_captioner(BOX / "photos")
    images = list(torch.rand(2, 49, 1280, generator=torch.Generator().manual_seed(1)))
    several = captioner.caption(images, search=SearchConfig(beam=6, nbest=6))
    for model in (captioner, EnsembleCaptioner([captioner, captioner])):
        found = model.caption(images, search=MBR, attention=True)
        for caption, candidates in zip(found, several, strict=True):
            expected = by_expected_similarity(candidates.hypotheses, MBR)
            assert caption.text == expected[0].text
            assert caption.attention is not None
            assert " ".join(caption.attention.words) == caption.text
        alone = model.caption(images[1:], search=MBR)
        assert alone[0].text == found[1].text
