"""Defaults of new weights from the number and the length of their examples."""

from __future__ import annotations

import math
import random

import pytest

from attncli.training.fitting import UPDATES, measured, new_weights
from attncli.training.settings.config import TrainConfig


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
