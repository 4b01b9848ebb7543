"""Parts of a group in threads: the same results in the same order, and the same errors."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence

import pytest
import torch

from models.base.limits import at_once
from models.inference.captioner import FEWEST, in_parts

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


def test_the_first_error_in_the_order_of_the_inputs_is_raised_after_all_parts() -> None:
    ended = []

    def fail(part: Sequence[int]) -> list[int]:
        time.sleep(0.05 if part[0] == 0 else 0)  # the second part fails first
        ended.append(part[0])
        raise ValueError(str(part[0]))

    with pytest.raises(ValueError, match=r"^0$"):
        in_parts(fail, MANY, CPU)
    assert len(ended) == 2 and threads_of_torch() == [2, 2]
