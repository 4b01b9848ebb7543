"""Settings that follow from the number and the length of the examples."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from attncli.training.fitting import UPDATES, measured, new_weights
from attncli.training.settings.config import TrainConfig
from attncli.training.sources import fit_limits
from models.core.use_config import SearchConfig


@pytest.mark.parametrize("pairs", [3, 100, 800, 3000])
def test_little_data_get_enough_updates_and_a_rate_that_falls_to_0(pairs: int) -> None:
    rng, usual = random.Random(pairs), TrainConfig(warmup=500)
    texts = [(" ".join("abcdef"[: rng.randint(2, 6)]), "x y") for _ in range(pairs)]
    found = measured(texts)
    train = new_weights(found, usual, ())["train"]
    batches = math.ceil(found.positions / train["batch_tokens"])
    assert UPDATES <= train["epochs"] * batches < UPDATES + batches
    assert train["warmup"] < UPDATES / 2 and train["schedule"] == "linear"
    assert new_weights(found, usual, ("train.steps",)) == {}


def test_single_words_are_read_in_letters_and_few_outputs_are_words() -> None:
    words = [("water", "W AO T ER"), ("tea", "T IY")]
    found = new_weights(measured(words), TrainConfig(), ())["tokenizer"]
    assert (found["kind"], found["target_kind"], found["joint"]) == ("char", "word", False)
    assert "tokenizer" not in new_weights(measured([("a b", "c")]), TrainConfig(), ())
    assert "tokenizer" not in new_weights(
        measured(words), TrainConfig(), ("train.subword_sampling",)
    )
    assert new_weights(measured([("a b c d", "e")] * 40_000), TrainConfig(), ()) == {}


DEFAULT = SearchConfig()
SOURCES = np.arange(1, 80)


def test_pairs_of_like_lengths_keep_the_default_limit() -> None:
    assert fit_limits(DEFAULT, SOURCES, SOURCES + 5) == DEFAULT


@pytest.mark.parametrize("targets", [5 * SOURCES, SOURCES + 200, np.full(79, 300)])
def test_every_training_target_fits_with_a_margin(targets: np.ndarray) -> None:
    found = fit_limits(DEFAULT, SOURCES, targets)
    assert (SOURCES * found.max_ratio + found.max_extra >= 1.15 * targets).all()


def test_texts_as_long_as_usual_training_sources_are_not_split() -> None:
    """A summariser reads whole abstracts; a few long sentences make no model of long texts."""
    abstracts = np.array([30, 150, 200, 260])
    assert fit_limits(DEFAULT, abstracts, abstracts // 10).split_above == 260
    sentences = np.array([8, 10, 12, 90])
    assert fit_limits(DEFAULT, sentences, sentences).split_above == 40
    given = replace(DEFAULT, split_above=0)
    assert fit_limits(given, abstracts, abstracts // 10).split_above == 0


def test_a_limit_that_the_user_sets_is_kept() -> None:
    given = replace(DEFAULT, max_extra=3)
    assert fit_limits(given, SOURCES, 5 * SOURCES) == given
