"""Parts of a group in threads: the same results in the same order, and the same errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
import torch

from models.base.interruptible import at_once
from models.inference.parts import FEWEST, divided, in_parts, number_of_parts

CPU = torch.device("cpu")
MANY = list(range(2 * FEWEST + 1))


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(1)


def places(part: Sequence[int]) -> list[tuple[int, threading.Thread, int]]:
    """Return each input, the thread that computes it, and its number of torch threads."""
    return [(one, threading.current_thread(), torch.get_num_threads()) for one in part]


def threads_of_torch() -> list[int]:
    """Return the number of torch threads in this thread, and in one that is started now."""
    return [torch.get_num_threads(), *at_once([torch.get_num_threads])]


@pytest.mark.parametrize("count", [1, 2, 3, 5, 9])
def test_parts_are_the_inputs_in_order_and_of_equal_sizes(count: int) -> None:
    parts = divided(MANY, count)
    assert [one for part in parts for one in part] == MANY
    sizes = [len(part) for part in parts]
    assert len(sizes) == count and max(sizes) - min(sizes) <= 1


def test_parts_are_computed_in_threads_that_divide_those_of_torch() -> None:
    threads = threading.active_count()
    found = in_parts(places, MANY, CPU)
    assert [one for one, _, _ in found] == MANY
    assert len({thread for _, thread, _ in found} - {threading.current_thread()}) == 2
    assert {share for _, _, share in found} == {1}
    assert threads_of_torch() == [2, 2] and threading.active_count() == threads


def test_one_thread_few_inputs_and_autocast_need_no_other_thread() -> None:
    def is_here(inputs: Sequence[int]) -> bool:
        found = {thread for _, thread, _ in in_parts(places, inputs, CPU)}
        return found == {threading.current_thread()}

    assert not is_here(MANY)
    assert is_here(MANY[: 2 * FEWEST - 1]) and is_here(MANY[:1])
    with torch.autocast("cpu"):
        assert is_here(MANY)
    torch.set_num_threads(1)
    assert is_here(MANY)
    assert number_of_parts(100, 8, torch.device("cuda")) == 1


@pytest.mark.parametrize(("threads", "inputs", "count"), [(8, 32, 8), (8, 13, 3), (3, 100, 3)])
def test_a_part_has_at_least_a_few_inputs(threads: int, inputs: int, count: int) -> None:
    assert number_of_parts(inputs, threads, CPU) == count


def test_the_first_error_in_the_order_of_the_inputs_is_raised_after_all_parts() -> None:
    ended = []

    def fail(part: Sequence[int]) -> list[int]:
        time.sleep(0.05 if part[0] == 0 else 0)  # the second part fails first
        ended.append(part[0])
        raise ValueError(str(part[0]))

    with pytest.raises(ValueError, match=r"^0$"):
        in_parts(fail, MANY, CPU)
    assert len(ended) == 2 and threads_of_torch() == [2, 2]
