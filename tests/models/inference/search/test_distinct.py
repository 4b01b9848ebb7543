"""n-best lists have different texts, with their summed probabilities, and keep the first output."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest

from models.base.types import Hypothesis
from models.inference.search.hypotheses import length_penalty
from models.inference.search.repeats import different_texts, merged
from models.inference.translator import Translator
from models.use_config import SearchConfig

#: ten sequences of tokens of six texts, of falling probability; "a" has four sequences
FOUND = [
    Hypothesis(text, score=-n / 2, log_prob=-n / 2, tokens=(), ids=(7,) * (n + 1))
    for n, text in enumerate(["a", "b", "a ", "a", "c", "d", "d", "e", " a", "f"])
]


def search(numbers: Sequence[int], config: SearchConfig) -> list[list[Hypothesis]]:
    """Return what a search of some width finds; it starts elsewhere if it is wide."""
    found = FOUND[: config.nbest] if config.nbest < 5 else [FOUND[1], FOUND[0], *FOUND[2:]]
    return [found[: config.nbest] for _ in numbers]


@pytest.mark.parametrize("nbest", range(1, 8))
def test_texts_differ_are_as_many_as_asked_for_and_the_first_stays(nbest: int) -> None:
    config = SearchConfig(beam=2, nbest=nbest, length_penalty=0)
    for found in different_texts(search, 2, config):
        texts = ["".join(one.text.split()) for one in found]
        assert len(texts) == len({*texts}) == min(nbest, 6)
        assert found[0].ids == FOUND[0].ids
        scores = [one.score for one in found[1:]]
        assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_probabilities_of_one_text_are_added(alpha: float) -> None:
    first, *_ = merged(FOUND, SearchConfig(length_penalty=alpha))
    same = [one for one in FOUND if one.text.strip() == "a"]
    total = math.log(sum(math.exp(one.log_prob) for one in same))
    assert first.log_prob == pytest.approx(total)
    assert first.score == pytest.approx(
        total / length_penalty(2, SearchConfig(length_penalty=alpha))
    )


def test_the_same_sequence_found_twice_counts_once() -> None:
    assert merged([FOUND[0], FOUND[0]], SearchConfig()) == [FOUND[0]]


@pytest.mark.parametrize("nbest", [2, 5, 9])
def test_more_outputs_of_a_model_never_change_the_first(
    nbest: int, tiny_translator: Translator
) -> None:
    config = SearchConfig(beam=2, max_ratio=1, max_extra=4)
    texts = ["the dog", "a red house"]
    [*ones] = tiny_translator.translate(texts, search=config)
    [*lists] = tiny_translator.translate(texts, search=replace(config, nbest=nbest))
    for one, many in zip(ones, lists, strict=True):
        assert many.hypotheses[0].ids == one.hypotheses[0].ids
        assert len({each.text for each in many.hypotheses}) == len(many.hypotheses) == nbest
