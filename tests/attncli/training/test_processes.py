"""Division of an update among processes, and the environment that numbers them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from attncli.training.processes import Rank, own_rank
from attncli.training.stepper import seed_of, split
from models.core.errors import ModelError


def test_a_batch_is_divided_without_separating_groups() -> None:
    numbers = np.array([7, 0, 3, 5, 4, 9, 8])
    shared = np.array([1, 0, 0, 2, 2, 2, 0, 1, 5, 5])  # group of each example of the data
    for count in (1, 2, 3, 9):
        for groups in (None, shared):
            parts = split(numbers, count, groups)
            assert len(parts) == count
            assert np.concatenate(parts).tolist() == numbers.tolist()
    parts = split(numbers, 3, shared)
    assert [set(shared[part]) for part in parts] == [{1}, {2}, {5}]


def test_random_numbers_depend_on_seed_update_and_process() -> None:
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
