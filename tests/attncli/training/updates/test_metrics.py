"""The metric of early stopping is chosen from the dev data."""

from __future__ import annotations

import pytest

from attncli.scoring.score import System
from attncli.scoring.translations import EvaluationSet, Scoring, score
from attncli.training.dev import metric_for
from attncli.training.settings.config import TrainConfig
from attncli.translate.dev import DevTexts


@pytest.mark.parametrize(
    ("references", "metric"),
    [
        (["yes", "no", "a long answer of many words"], "exact"),
        (["a dog runs fast", "yes", "the cat sleeps here"], "bleu"),
        (["\u72d7\u5728\u8dd1\u6b65\u7740", "\u732b\u5728\u7761\u89c9\u5462"], "bleu"),
        (["\u0e01" * 60, "\u0e02" * 70], "bleu"),
        ([], "bleu"),
    ],
)
def test_short_targets_are_scored_by_exact_match(references: list[str], metric: str) -> None:
    assert metric_for(references) == metric


def test_training_and_evaluation_count_the_same_tokens() -> None:
    """Full stops and commas are tokens of their own for both, unless the tokenizer is none."""
    outputs, references = ["yes, a dog", "no"], ["yes, a cat.", "no"]
    rates = []
    for name in ("13a", "none"):
        config = TrainConfig(metric="error_rate", bleu_tokenizer=name)
        dev = DevTexts(["x", "y"], [[text] for text in references])
        rate = dev.scores(1.0, outputs, config).error_rate
        (found,) = score(
            [System("one", outputs)], EvaluationSet([], [references]), Scoring(tokenize=name)
        )
        rates.append(rate)
        assert rate == next(each.value for each in found if each.name == "error rate")
    assert rates == pytest.approx([100 * 2 / 6, 100 * 1 / 4])
