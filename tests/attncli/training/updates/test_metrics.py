"""The metric of early stopping is chosen from the dev data."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from attncli.scoring.score import System
from attncli.scoring.translations import EvaluationSet, Scoring, score
from attncli.training.command_line import settings
from attncli.training.dev import described, metric_for, value_of
from attncli.training.folder import RunFolder, read_config
from attncli.training.interfaces import METRICS, Evaluated, FinalModel, Scores, Started
from attncli.training.settings.config import TrainConfig
from attncli.translate.dev import DevTexts
from tests.attncli.training.small import run

WORDS = ["red", "blue", "green", "black", "white", "grey", "pink", "brown"]
SHORT = (
    *("train.epochs=8", "train.batch_tokens=128", "train.warmup=20", "train.lr=0.01"),
    *("model.dropout=0", "tokenizer.size=300"),
)


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


@pytest.mark.parametrize("name", METRICS)
def test_a_value_is_described_as_it_was_measured(name: str) -> None:
    values: dict[str, Any] = dict.fromkeys(METRICS, 2.0)
    scores = Scores(**values)
    assert described(value_of(scores, name), name).startswith(f"{METRICS[name].label} 2.00")


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


def write_first_words(path: Path, count: int, seed: int) -> Path:
    """Write rows of some words, tab, the first of them: the shortest summary."""
    rng = random.Random(seed)
    rows = [rng.choices(WORDS, k=rng.randint(3, 6)) for _ in range(count)]
    path.write_text("".join(f"{' '.join(row)}\t{row[0]}\n" for row in rows), "utf-8")
    return path


def test_a_run_with_one_word_targets_learns_and_keeps_its_best_weights(tmp_path: Path) -> None:
    train = write_first_words(tmp_path / "train.tsv", 400, 1)
    dev = write_first_words(tmp_path / "dev.tsv", 40, 2)
    events = run(settings([train], [dev], "rnnsearch-nano", SHORT), tmp_path / "run")
    started, final = events[0], events[-1]
    assert isinstance(started, Started) and isinstance(final, FinalModel)
    assert (started.metric, started.metric_is_auto) == ("exact", True)
    scores = [event.scores for event in events if isinstance(event, Evaluated)]
    assert {score.bleu for score in scores} == {0.0}
    assert final.metric == "exact" and final.score is not None and final.score >= 90
    assert read_config(RunFolder(tmp_path / "run")).train.metric == "auto"
