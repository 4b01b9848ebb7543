"""The shuffle in two levels: every pair as often as it should be, in the same order again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from attncli.data.batching import cut
from attncli.data.text.mixture import Direction, quotas_of
from attncli.data.text.tokens import SelectedPairs, Side, TokenPairs
from attncli.data.text.windows import PairRange, WindowedExamples, WindowedPlan
from attncli.tasks.translate.training.variation import numbers_of
from attncli.training.events import Interrupted
from attncli.training.settings.config import DataConfig
from attncli.training.sources import training_source
from models.base.types import Batch
from tests.attncli.training.small import (
    after,
    assert_same,
    run,
    run_with_stops,
    small_config,
    write_texts,
)

PAIRS, WINDOW = 1000, 160


def direction(pairs: int, weight: float = 1.0) -> Direction:
    """Return pairs of 2 to 40 ids; the first id of a source is the number of the pair."""
    random = np.random.default_rng(pairs)
    sides = []
    for _ in range(2):
        offsets = np.cumsum([0, *random.integers(2, 40, pairs)])
        ids = random.integers(4, 100, offsets[-1])
        ids[offsets[:-1]] = np.arange(pairs)
        sides.append(Side(ids, offsets))
    return Direction("", sides[0], sides[1], weight=weight)


def windowed(directions: Sequence[Direction], size: int = WINDOW) -> WindowedExamples:
    """Return the pairs of the first direction in windows."""
    pairs = TokenPairs(directions[0].source, directions[0].target)
    quotas = tuple(quotas_of(directions, 1.0).tolist())
    return WindowedExamples(
        tuple(directions),
        quotas,
        size,
        seed=1,
        select=lambda pieces, *_: SelectedPairs(pairs, numbers_of(pieces)),
    )


def plan(examples: WindowedExamples, *, both_sides: bool = False) -> WindowedPlan:
    return WindowedPlan(examples, 256, both_sides=both_sides)


def first_ids(examples: WindowedExamples, batches: Sequence[np.ndarray]) -> list[int]:
    """Return the number of the pair of each example."""
    return [number for batch in batches for number in examples.batch(batch).source[:, 0].tolist()]


@pytest.mark.parametrize("both_sides", [False, True])
def test_an_epoch_has_every_pair_once_and_no_batch_above_the_budget(both_sides: bool) -> None:
    examples = windowed([direction(PAIRS)]).at(0)
    batches = plan(examples, both_sides=both_sides)
    assert len(batches) == len(list(batches)) and len(set(np.concatenate(list(batches)))) == PAIRS
    assert sorted(first_ids(examples, batches)) == list(range(PAIRS))
    for numbers in batches:
        batch: Batch = examples.batch(numbers)
        assert max(batch.source.numel(), batch.target_out.numel()) <= 256


def test_every_epoch_has_another_order_and_the_same_one_again() -> None:
    examples = windowed([direction(PAIRS)])
    orders = [first_ids(examples.at(epoch), plan(examples.at(epoch))) for epoch in (0, 1, 0)]
    assert orders[0] == orders[2] != orders[1]
    homes = [set(order[:WINDOW]) for order in orders]
    assert len(homes[0] & homes[1]) < WINDOW / 2  # other chunks share a window


def test_a_plan_read_from_any_batch_on_is_that_of_the_whole_epoch() -> None:
    examples = windowed([direction(PAIRS)]).at(3)
    whole = [batch.tolist() for batch in plan(examples)]
    for start in (0, 7, len(whole) - 3):
        part = plan(windowed([direction(PAIRS)]).at(3))[start : start + 3]
        assert [batch.tolist() for batch in part] == whole[start : start + 3]
    assert plan(examples)[-1].tolist() == whole[-1]
    with pytest.raises(IndexError):
        plan(examples)[len(whole)]


def test_only_two_windows_are_in_memory() -> None:
    examples = windowed([direction(PAIRS)]).at(0)
    for number in range(examples.windows):
        examples.window(number)
        assert len(examples.opened) <= 2


@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_every_window_has_the_directions_in_their_shares(weight: float) -> None:
    examples = windowed([direction(900), direction(100, weight)])
    large, small = examples.quotas
    assert large + small == 1000 and small == (100 if weight == 1 else 250)
    times = [np.zeros(900), np.zeros(100)]
    for number in range(examples.windows):
        counts = [0, 0]
        for place, start, stop in examples.pieces(number):
            counts[place] += stop - start
            times[place][start:stop] += 1
        assert counts[1] == pytest.approx(small / examples.windows, abs=1)
    assert all(np.ptp(each) <= 1 for each in times)
    assert [each.sum() for each in times] == [large, small]


def test_pieces_are_parts_of_chunks_of_a_sixteenth_of_a_window() -> None:
    pieces = windowed([direction(PAIRS)]).pieces(2)
    assert all(
        isinstance(piece, PairRange) and 0 < piece.stop - piece.start <= 10 for piece in pieces
    )
    assert [piece.start for piece in pieces] != sorted(piece.start for piece in pieces)


@pytest.mark.parametrize("budget", [1, 7, 40, 1000])
def test_sorted_lengths_are_cut_as_one_by_one(budget: int) -> None:
    lengths = np.sort(np.random.default_rng(budget).integers(1, 20, 300))
    pool = np.arange(300)
    expected, start = [], 0
    for index, length in enumerate(lengths.tolist()):
        if index > start and (index - start + 1) * length > budget:
            expected.append(pool[start:index].tolist())
            start = index
    expected.append(pool[start:].tolist())
    assert [part.tolist() for part in cut(pool, lengths, budget)] == expected


def unseen(label: str, done: float, total: float) -> None:
    """Show no progress."""


VARIATIONS = {
    "plain": (),
    "varied": ("data.concatenate=0.3", "data.noise=0.2", "train.subword_sampling=0.2"),
}


@pytest.mark.parametrize("name", VARIATIONS)
def test_an_interrupted_run_of_a_large_corpus_equals_an_unbroken_one(
    name: str, tmp_path: Path
) -> None:
    changes = ("data.shuffle_window=16", "train.evaluate_every=7", *VARIATIONS[name])
    config = small_config(write_texts(tmp_path), *changes)
    run(config, tmp_path / "whole")
    run_with_stops(config, tmp_path / "broken")
    assert_same(tmp_path / "whole", tmp_path / "broken")


def test_a_run_of_a_version_without_windows_continues_in_its_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its config.toml has no data.shuffle_window: the whole corpus was shuffled at once."""
    texts = write_texts(tmp_path)
    config = small_config(texts)
    run(config, tmp_path / "whole")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "earlier", stop=after(3))
    stored = tmp_path / "earlier" / "config.toml"
    lines = stored.read_text("utf-8").splitlines(keepends=True)
    stored.write_text("".join(line for line in lines if "shuffle_window" not in line), "utf-8")
    monkeypatch.setattr(DataConfig, "shuffle_window", 16)  # the default: the corpus is larger
    run(small_config(texts, "data.shuffle_window=16"), tmp_path / "earlier")
    assert_same(tmp_path / "whole", tmp_path / "earlier")


def test_a_corpus_that_fits_is_shuffled_as_a_whole(tmp_path: Path) -> None:
    texts = write_texts(tmp_path)
    for size, kind in ((60, "TokenPairs"), (59, "WindowedExamples")):
        config = small_config(texts, f"data.shuffle_window={size}")
        data = training_source(config.model.family).load(config, tmp_path / str(size), unseen)
        assert type(data.prepared.examples).__name__ == kind
