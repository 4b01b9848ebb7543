"""Repeated n-grams, loops and texts: by plain loops, in all searches and engines."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from models.core.limits import OUTPUT_TOKENS
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.captioner import caption_limit
from models.engines.translator import Translator
from models.search.hypotheses import length_limit, length_penalty
from models.search.repeats import (
    Repetition,
    different_texts,
    log_probs_of,
    merged,
    repetition,
)

TEXTS = ["the dog", "a red house and the old dog"]
LONG: dict[str, Any] = {
    "max_ratio": 6,
    "max_extra": 20,
}  # a model that hardly learned repeats itself until then


class Step(NamedTuple):
    logits: Tensor
    state: None = None

    @property
    def log_probs(self) -> Tensor:
        return self.logits.log_softmax(1)


@pytest.mark.parametrize("size", range(5))
@pytest.mark.parametrize("penalty", [1.0, 1.3, 0.5])
def test_the_next_token_by_plain_loops(size: int, penalty: float) -> None:
    ids = torch.tensor([[2, 5, 6, 5, 6, 5], [2, 7, 7, 7, 8, 7], [2, 9, 4, 5, 6, 7]])
    logits = torch.randn(3, 11)
    expected = logits.clone()
    for row, output in enumerate(ids[:, 1:].tolist()):
        for token in {*output}:
            z = float(logits[row, token])
            expected[row, token] = z * penalty if z < 0 else z / penalty
        ngrams = {tuple(output[n : n + size]) for n in range(len(output) - size + 1)}
        for token in range(11):
            if size and (*output[len(output) - size + 1 :], token) in ngrams:
                expected[row, token] = -torch.inf
    config = SearchConfig(no_repeat=size, repetition_penalty=penalty)
    torch.testing.assert_close(log_probs_of(Step(logits), ids, config), expected.log_softmax(1))


@pytest.mark.parametrize("method", ["beam", "greedy", "sample"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_no_output_repeats_an_ngram(size: int, method: str, tiny_translator: Translator) -> None:
    config = SearchConfig(method=method, no_repeat=size, **LONG)
    for found in tiny_translator.translate(TEXTS, search=config):
        ids = found.hypotheses[0].ids
        ngrams = [ids[n : n + size] for n in range(len(ids) - size + 1)]
        assert len(ngrams) == len({*ngrams})


@pytest.mark.parametrize(
    "text, phrase, count",
    [
        ("a man " + "and a dog " * 5, "and a dog", 5),
        ("no " * 9, "no", 9),
        ("x y " * 4 + "end.", "x y", 4),
        ("哈哈" * 6, "哈", 12),
    ],
)
def test_a_loop_is_found_with_its_phrase(text: str, phrase: str, count: int) -> None:
    assert repetition(text) == Repetition(phrase, count)


@pytest.mark.parametrize(
    "text", ["", "a", "very very very good", "the dog and the cat and the man and", "0000"]
)
def test_ordinary_text_has_no_loop(text: str) -> None:
    assert repetition(text) is None


def test_a_loop_of_the_source_is_not_a_fault() -> None:
    assert repetition("ja " * 8, "yes " * 8) is None
    assert repetition("ja " * 20, "yes " * 8) == Repetition("ja", 20)
    assert repetition("ja " * 20, "yes", "ja " * 20) is None  # so does a reference
    assert repetition("ja " * 20, "yes", "ja " * 8) == Repetition("ja", 20)


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


@pytest.mark.parametrize("ratio", [1e4, 2.0**63, 1e308])
def test_no_setting_of_a_model_makes_an_output_longer_than_the_ceiling(ratio: float) -> None:
    assert length_limit(512, SearchConfig(max_ratio=ratio, max_extra=2**20)) == OUTPUT_TOKENS
    assert caption_limit(SearchConfig(max_caption=2**20)) == OUTPUT_TOKENS
