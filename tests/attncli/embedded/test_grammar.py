"""Embedded sentences: reproducible, in an order by seed; splits share no source."""

from __future__ import annotations

import pytest

from attncli.embedded.grammar import generate, split, split_tenses
from models.base.errors import ConfigurationError


def test_equal_seeds_give_equal_sentences() -> None:
    assert list(generate(300, seed=6)) == list(generate(300, seed=6)) != list(generate(300, seed=7))


@pytest.mark.parametrize("seed", [1, 10])
def test_splits_share_no_source_sentence(seed: int) -> None:
    train, dev, test = split(8_000, 500, 500, seed=seed)
    assert (len(train), len(dev), len(test)) == (8_000, 500, 500)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 1_000
    assert not held_out & {pair.source for pair in train}
    assert len(split_tenses(8_000, 500, seed=seed).train) == 8_000


def test_more_sentences_than_there_are_is_one_line() -> None:
    with pytest.raises(ConfigurationError, match="demo_size=9000; expected at most 80"):
        split(9_000, 500, 500)
