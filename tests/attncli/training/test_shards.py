"""Shards and their sum: fixed parts, a fixed order."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from attncli.training.distributed.rank import Rank, own_rank
from attncli.training.distributed.shards import (
    Subtree,
    TreeSum,
    blocks,
    divided,
    seed_of,
    split,
    sum_in_order,
)
from attncli.training.distributed.world import ALONE, ProcessGroup, World
from attncli.training.settings.config import TrainConfig
from models.base.errors import ModelError
from tests.attncli.training.processes import group_of

KINDS = (1, 2, 3, 4, 6, 7, 12)  # numbers of shards
WIDTH = 24  # numbers in a gradient: a multiple of 1 to 4 processes


def gradient(shards: int, shard: int) -> Tensor:
    """Return numbers of very different sizes, so that every order of addition differs."""
    rng = torch.Generator().manual_seed(100 * shards + shard)
    size = 10.0 ** torch.randint(-6, 6, (WIDTH,), generator=rng)
    return torch.randn(WIDTH, generator=rng) * size


def summed(shards: int, world: World) -> Tensor:
    """Return the sum of all shards, of which this process has some."""
    own = TreeSum()
    for shard in blocks(shards, world.size)[world.number]:
        own.add(Subtree(0, shard, gradient(shards, shard)))
    return sum_in_order(own, shards, world)


@pytest.mark.parametrize("size", [2, 3, 4])
def test_the_sum_is_the_same_for_every_number_of_processes(size: int, tmp_path: Path) -> None:
    kinds = [shards for shards in KINDS if shards >= size]

    def work(world: ProcessGroup) -> None:
        found = [summed(shards, world).tolist() for shards in kinds]
        assert found == [summed(shards, ALONE).tolist() for shards in kinds]

    group_of(size, work, tmp_path / "errors")


def test_the_sum_has_the_order_of_a_tree() -> None:
    a, b, c, d = (gradient(4, shard) for shard in range(4))
    assert summed(4, ALONE).tolist() == ((a + b) + (c + d)).tolist()
    assert summed(4, ALONE).tolist() != (((a + b) + c) + d).tolist()


@pytest.mark.parametrize("shards", KINDS)
def test_each_process_has_its_share_of_the_shards(shards: int) -> None:
    for size in range(1, shards + 1):
        found = blocks(shards, size)
        assert [shard for block in found for shard in block] == list(range(shards))
        assert max(map(len, found)) - min(map(len, found)) <= 1


def test_a_batch_is_divided_without_separating_groups() -> None:
    numbers = np.array([7, 0, 3, 5, 4, 9, 8])
    shared = np.array([1, 0, 0, 2, 2, 2, 0, 1, 5, 5])  # group of each example of the data
    for shards in (1, 2, 3, 9):
        for groups in (None, shared):
            parts = split(numbers, shards, groups)
            assert len(parts) == shards
            assert np.concatenate(parts).tolist() == numbers.tolist()
    parts = split(numbers, 3, shared)
    assert [set(shared[part]) for part in parts] == [{1}, {2}, {5}]


def test_random_numbers_depend_on_seed_update_and_shard() -> None:
    seeds = {seed_of(*key) for key in itertools.product((1, 2), (1, 2), (0, 1))}
    assert len(seeds) == 8 and all(0 <= seed < 2**63 for seed in seeds)


def test_the_environment_tells_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_rank() == own_rank(2) == Rank()
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "localhost")):
        monkeypatch.setenv(name, value)
    assert own_rank() == own_rank(2) == Rank(1, 2, 0)
    with pytest.raises(ModelError, match="--processes 3 in one of 2 processes"):
        own_rank(3)
    for wrong in ("2", "-1", "one"):
        monkeypatch.setenv("RANK", wrong)
        with pytest.raises(ModelError, match=f"RANK={wrong}"):
            own_rank()


def test_several_processes_divide_an_update_by_default() -> None:
    shards = [divided(TrainConfig(), processes).shards for processes in (1, 2, 4, 5, 9)]
    assert shards == [0, 4, 4, 8, 16]
    with pytest.raises(ModelError, match="3 processes for train.shards=2; expected at most 2"):
        divided(TrainConfig(shards=2), 3)
