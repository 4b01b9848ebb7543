"""Repeated n-grams and the repetition penalty: by plain loops, in all searches and engines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor

from models.inference.ctranslate2.translator import CTranslate2Translator
from models.inference.search.repeats import log_probs_of
from models.inference.translator import Translator
from models.use_config import SearchConfig

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
    "config",
    [SearchConfig(no_repeat=2), SearchConfig(repetition_penalty=1.5), SearchConfig(no_repeat=1)],
)
def test_ctranslate2_finds_the_outputs_of_torch(
    config: SearchConfig, tiny_bundle: Path, tiny_translator: Translator
) -> None:
    fast = CTranslate2Translator.read(tiny_bundle)
    for method in ("beam", "greedy"):
        search = replace(config, method=method)
        slow = tiny_translator.translate(TEXTS, search=search)
        for one, other in zip(fast.translate(TEXTS, search=search), slow, strict=True):
            assert one.text == other.text
            assert one.hypotheses[0].score == pytest.approx(other.hypotheses[0].score, abs=1e-4)
