"""Tokenised corpora, batches by tokens, and settings that follow from the examples."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attncli.train._fitting import UPDATES, measured, new_weights, short_warm_up
from attncli.training import tokens
from attncli.training.config import TrainConfig
from attncli.training.examples import Side, Table, epoch_plan
from attncli.training.prepared import sampled_lines, size_for
from attncli.training.tokens import read_pairs, write_pairs
from attncli.translate.source import fit_limits
from models.core.use_config import SearchConfig
from models.text.tokenizer import END, PAD, START


class Numbers:
    """A tokenizer of numbers: their ids are themselves."""

    empty = 1  # tokens of an empty text: the end mark

    def __init__(self, size: int) -> None:
        self.source = self.target = range(size)

    def encode(self, text: str) -> list[int]:
        """Return the numbers and the end mark."""
        return [*map(int, text.split()), END]

    def encode_sources(self, texts: list[str], threads: int = 1) -> list[list[int]]:
        """Return the numbers of each text and the end mark."""
        return list(map(self.encode, texts))

    encode_targets = encode_sources


def corpus(lengths: Sequence[tuple[int, int]]) -> Table:
    """Pairs of these lengths, all their ids different from PAD."""
    sides = []
    for column in zip(*lengths, strict=True):
        offsets = np.cumsum([0, *column])
        sides.append(Side(np.arange(offsets[-1]) % 100 + 4, offsets))
    return Table(sides[0], sides[1])


@pytest.fixture
def some() -> Table:
    """500 pairs of 2 to 60 ids."""
    random = np.random.default_rng(0)
    return corpus([tuple(pair) for pair in random.integers(2, 60, (500, 2)).tolist()])


def plan(pairs: Table, tokens: int = 256, seed: int = 1, epoch: int = 0) -> list[list[int]]:
    return [batch.tolist() for batch in epoch_plan(pairs, tokens, seed=seed, epoch=epoch)]


def test_the_order_depends_on_seed_and_epoch_only(some: Table) -> None:
    np.random.seed(3)
    torch.manual_seed(3)
    first = plan(some)
    np.random.seed(4)
    torch.manual_seed(4)
    assert plan(some) == first
    assert plan(some, epoch=1) != first
    assert plan(some, seed=2) != first


def test_pairs_that_share_a_batch_seldom_meet_again_in_the_next_epoch() -> None:
    random = np.random.default_rng(1)
    sources = random.integers(3, 30, 20_000)
    targets = np.maximum(2, sources + random.integers(-4, 5, 20_000))
    lengths: Any = SimpleNamespace(count=20_000, lengths=(sources, targets), shared=None)
    homes = []
    for epoch in (0, 1):
        batches = epoch_plan(lengths, 1000, seed=1, epoch=epoch)
        home = np.empty(20_000, int)
        for number, batch in enumerate(batches):
            home[batch] = number
        homes.append(home)
    together = np.unique(homes[0] * 10_000 + homes[1], return_counts=True)[1]
    first = np.bincount(homes[0])
    share = (together * (together - 1)).sum() / (first * (first - 1)).sum()
    assert share < 0.25  # 0.58 if sorted by both sides


@pytest.mark.parametrize("pool", [2**20, 64])
def test_an_epoch_has_every_pair_once_within_the_budget(
    some: Table, pool: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.training.examples.POOL", pool)
    batches = plan(some)
    assert sorted(number for batch in batches for number in batch) == list(range(500))
    for numbers in batches:
        batch = some.batch(np.array(numbers))
        assert max(batch.source.numel(), batch.target_out.numel()) <= 256


def test_batches_are_of_like_length_and_in_no_order_of_length(some: Table) -> None:
    batches = plan(some, tokens=512)
    longer = np.maximum(*some.lengths)
    padded = sum(len(batch) * max(longer[batch]) for batch in batches)
    assert longer.sum() / padded > 0.9
    longest = [max(longer[batch]) for batch in batches]
    assert abs(np.corrcoef(longest, np.arange(len(longest)))[0, 1]) < 0.5


def test_a_pair_longer_than_the_budget_is_a_batch_of_its_own() -> None:
    pairs = corpus([(5, 5), (400, 3), (5, 5)])
    batches = plan(pairs, tokens=100)
    assert [1] in batches and sorted(sum(batches, [])) == [0, 1, 2]


def test_a_gathered_batch_is_padded_and_shifted() -> None:
    pairs = corpus([(3, 2), (1, 4)])
    batch = pairs.batch(np.array([1, 0]))
    assert batch.source.tolist() == [[7, PAD, PAD], [4, 5, 6]]
    assert batch.source_mask.tolist() == [[True, False, False], [True, True, True]]
    assert batch.target_out.tolist() == [[6, 7, 8, 9], [4, 5, PAD, PAD]]
    assert batch.target_in.tolist() == [[START, 6, 7, 8], [START, 4, 5, PAD]]
    assert batch.target_mask.tolist() == [[True] * 4, [True, True, False, False]]


@pytest.mark.parametrize("size, width", [(2**16, 2), (2**16 + 1, 4)])
def test_ids_come_back_whatever_their_width(
    size: int, width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "CHUNK", 2)
    last = size - 1
    texts = [(f"{last} 4", "5"), ("6", f"7 8 {last}"), ("", "9"), ("9", "9 " * 9), ("4", "5")]
    seen: list[int] = []
    dropped, kept = write_pairs(texts, Numbers(size), tmp_path, max_length=9, advance=seen.append)  # type: ignore[arg-type]
    assert dropped == (1, 1) and seen == [2, 4, 5]
    assert kept.tolist() == [True, True, False, False, True]
    pairs = read_pairs(tmp_path)
    sides: Any = (pairs.source, pairs.target)
    assert sides[0].ids.itemsize == width
    source, target = ([side[i].tolist() for i in range(pairs.count)] for side in sides)
    assert source == [[last, 4, END], [6, END], [4, END]]
    assert target == [[5, END], [7, 8, last, END], [5, END]]


def test_a_sample_is_drawn_from_the_whole_corpus() -> None:
    pairs = [(f"{n}", f"-{n}") for n in range(1000)]
    source, target, total = sampled_lines(pairs, 100, seed=1)
    assert total == 1000 and len(source) == 100 == len(set(source))
    assert target == [f"-{text}" for text in source]
    assert 400 < np.mean([int(text) for text in source]) < 600
    assert sampled_lines(pairs, 100, seed=1)[0] == source != sampled_lines(pairs, 100, seed=2)[0]
    assert sampled_lines(pairs, 2000, seed=1)[0] == [str(n) for n in range(1000)]
    assert sampled_lines([], 100, seed=1) == ([], [], 0)


def test_the_vocabulary_grows_with_the_text_within_bounds() -> None:
    sizes = [size_for(7 * count) for count in (1, 1000, 100_000, 10**9)]
    assert sizes[0] == 400 < sizes[1] < sizes[2] < sizes[3] == 32_000


@pytest.mark.parametrize("pairs", [3, 100, 800, 3000])
def test_little_data_get_enough_updates_and_a_rate_that_falls_to_0(pairs: int) -> None:
    rng, usual = random.Random(pairs), TrainConfig(warmup=500)
    texts = [(" ".join("abcdef"[: rng.randint(2, 6)]), "x y") for _ in range(pairs)]
    found = measured(texts)
    train = new_weights(found, usual, ())["train"]
    batches = math.ceil(found.positions / train["batch_tokens"])
    assert UPDATES <= train["epochs"] * batches < UPDATES + batches
    assert train["warmup"] < UPDATES / 2 and train["schedule"] == "linear"
    limited = new_weights(found, usual, ("train.steps",))["train"]
    assert limited == {"schedule": "linear", "epochs": 0}


@pytest.mark.parametrize("seed", range(8))
def test_a_warm_up_is_a_tenth_of_a_limited_run_unless_it_is_set(seed: int) -> None:
    rng = random.Random(seed)
    steps, pairs, epochs = rng.randint(1, 3000), rng.randint(10, 3000), rng.randint(1, 9)
    texts = [("a b c", "d e f")] * pairs
    usual = TrainConfig(warmup=rng.randint(1, 400), batch_tokens=256, steps=steps)
    found = short_warm_up(usual, {"train.steps"}, texts)
    assert found.warmup == min(usual.warmup, math.ceil(steps / 10))
    assert short_warm_up(usual, {"train.steps", "train.warmup"}, texts) == usual
    assert short_warm_up(usual, {"train.lr"}, texts) == usual
    by_epochs = replace(usual, steps=0, epochs=epochs)
    updates = epochs * measured(texts).positions / 256
    found = short_warm_up(by_epochs, {"train.epochs"}, texts)
    assert found.warmup == min(usual.warmup, math.ceil(updates / 10))


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
