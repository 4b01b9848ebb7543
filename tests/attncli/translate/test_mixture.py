"""Examples of several directions: shares, concatenation, noise, and their random numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from attncli.data.embedded import Pair
from attncli.training.tokens import read_side, write_pairs
from attncli.translate.mixture import (
    Direction,
    Mixture,
    Variation,
)
from models.core.use_config import TokenizerConfig
from models.text.tokenizer import END, Tokenizer
from tests.models.text.small import learned

Mixed = Callable[..., Mixture]


@pytest.fixture(scope="module")
def tokenizer(tiny_pairs: list[Pair]) -> Tokenizer:
    """Return a joint tokenizer with language tokens."""
    return learned(tiny_pairs, TokenizerConfig(languages=("de", "en")))


@pytest.fixture(scope="module")
def mixed(
    tokenizer: Tokenizer, tiny_pairs: list[Pair], tmp_path_factory: pytest.TempPathFactory
) -> Mixed:
    """Return a function that mixes two directions for an epoch, with settings of `Variation`.

    There are 40 pairs from English to German, and the first 8 of them in the other direction.
    """
    directions = []
    sides = [(pair.source, pair.target) for pair in tiny_pairs[:40]]
    turned = [(target, source) for source, target in sides[:8]]
    for name, texts in (("en-de", sides), ("de-en", turned)):
        folder = tmp_path_factory.mktemp(name)
        write_pairs(texts, tokenizer, folder, max_length=200)
        source, target = (read_side(folder, side) for side in ("source", "target"))
        directions.append(Direction(name, source, target, (tokenizer.language_id(name[3:]),)))

    def mix(epoch: int = 0, **settings: Any) -> Mixture:
        return Mixture.of(directions, tokenizer, Variation(**settings)).at(epoch)

    return mix


def texts_of(mixture: Mixture) -> list[tuple[str, str]]:
    """Source and target of every example, as text."""
    batch = mixture.batch(np.arange(mixture.count))
    tokenizer = mixture.tokenizer
    return [
        (tokenizer.decode(source.tolist()), tokenizer.decode(target.tolist()))
        for source, target in zip(batch.source, batch.target_out, strict=True)
    ]


def test_the_language_token_comes_first_and_the_text_is_unchanged(
    mixed: Mixed, tokenizer: Tokenizer, tiny_pairs: list[Pair]
) -> None:
    mixture = mixed()
    batch = mixture.batch(np.array([3, 41]))
    for row, (pair, to) in enumerate(((tiny_pairs[3], "de"), (tiny_pairs[1], "en"))):
        source, target = (pair.source, pair.target)[:: 1 if to == "de" else -1]
        ids = tokenizer.encode(source, to)
        assert batch.source[row].tolist()[: len(ids)] == ids
        said = tokenizer.encode_target(target)
        assert batch.target_out[row].tolist()[: len(said)] == said


def test_lengths_are_those_of_the_batch(mixed: Mixed) -> None:
    mixture = mixed(2, concatenate=0.3)
    batch = mixture.batch(np.arange(mixture.count))
    assert batch.source_mask.sum(1).tolist() == mixture.lengths[0].tolist()
    assert batch.target_mask.sum(1).tolist() == mixture.lengths[1].tolist()


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0, 1000.0])
def test_temperature_sets_the_shares(temperature: float, mixed: Mixed) -> None:
    """Arivazhagan et al. 2019: share ~ n^(1/T); an epoch has as many examples as pairs."""
    mixture = mixed(temperature=temperature)
    weights = [40 ** (1 / temperature), 8 ** (1 / temperature)]
    counts = np.bincount(mixture.direction_of(mixture.rows[:, 0]), minlength=2)
    assert counts.sum() == 48
    assert counts[0] == pytest.approx(48 * weights[0] / sum(weights), abs=1)
    times = np.bincount(mixture.rows[:, 0], minlength=48)
    assert all(np.ptp(times[part]) <= 1 for part in (slice(0, 40), slice(40, 48)))


@pytest.mark.parametrize("examples", [1, 2, 47, 48, 100, 1000])
def test_an_epoch_of_any_size_has_the_shares_in_the_mean(examples: int, mixed: Mixed) -> None:
    """Of replay, an epoch has another number of examples than there are pairs."""
    mixture = mixed(examples=examples, temperature=2)
    of_small = []
    for epoch in range(200 // min(examples, 10)):
        found = mixture.at(epoch)
        assert found.count == len(found.lengths[0]) == examples
        of_small.append(np.mean(found.direction_of(found.rows[:, 0])))
    assert np.mean(of_small) == pytest.approx(8**0.5 / (8**0.5 + 40**0.5), abs=0.1)


def test_concatenated_examples_join_pairs_of_one_direction(
    mixed: Mixed, tokenizer: Tokenizer, tiny_pairs: list[Pair]
) -> None:
    mixture = mixed(1, concatenate=0.25)
    known = {p.source: p.target for p in tiny_pairs} | {p.target: p.source for p in tiny_pairs}
    joined = [row[row >= 0] for row in mixture.rows if (row >= 0).sum() > 1]
    assert len(joined) == 16 and mixture.count == 64  # a quarter of all examples
    assert all(len(set(mixture.direction_of(row))) == 1 for row in joined)
    for number, row in enumerate(mixture.rows):
        members = [
            texts_of(replace(mixture, rows=np.array([[pair]]), epoch=None))[0]
            for pair in row[row >= 0]
        ]
        assert all(known[source] == target for source, target in members)
        if number > 55:
            batch = mixture.batch(np.array([number]))
            joined_text = " ".join(source for source, _ in members)
            assert tokenizer.decode(batch.source[0].tolist()) == joined_text
            assert batch.source[0, -1] == END and (batch.source[0] == END).sum() == 1


def test_no_concatenated_example_is_longer_than_the_limit(mixed: Mixed) -> None:
    mixture = mixed(concatenate=0.6, longest=60)
    many = (mixture.rows >= 0).sum(1) > 1
    assert many.any() and np.maximum(*mixture.lengths)[many].max() <= 60


def test_examples_depend_on_seed_and_epoch_alone(mixed: Mixed) -> None:
    variation = {"seed": 5, "temperature": 3, "concatenate": 0.2, "noise": 0.5, "sampling": 0.2}
    one, other = (mixed(**variation) for _ in range(2))
    one.batch(np.arange(10))  # the past changes nothing
    left, right = one.at(3).batch(np.arange(5, 15)), other.at(3).batch(np.arange(5, 15))
    assert left.source.equal(right.source) and left.target_out.equal(right.target_out)
    alone = other.at(3).batch(np.array([7])).source
    assert left.source[2][: alone.shape[1]].equal(alone[0])  # nor the rest of the batch
    assert texts_of(one.at(3)) != texts_of(one.at(4))


def test_noise_changes_its_share_of_the_sources_and_no_target(mixed: Mixed) -> None:
    plain = texts_of(mixed())
    noisy = texts_of(mixed(noise=0.5))
    changed = sum(a[0] != b[0] for a, b in zip(plain, noisy, strict=True))
    assert 12 <= changed <= 36  # of 48
    assert [target for _, target in plain] == [target for _, target in noisy]


def test_sampling_changes_tokens_but_no_text(mixed: Mixed) -> None:
    plain, sampled = mixed(), mixed(sampling=0.2)
    assert texts_of(plain) == texts_of(sampled)
    numbers = np.arange(48)
    assert plain.batch(numbers).target_out.shape != sampled.batch(numbers).target_out.shape
