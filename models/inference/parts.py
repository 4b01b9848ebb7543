"""A group of inputs in parts, each computed in its own thread.

torch divides one operation among its threads, and each operation waits for the slowest of them.
A beam search has thousands of small operations that gain nothing. Threads with a part of the
inputs each wait for each other only at the end of the group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import TypeVar

import torch

from models.base.interruptible import at_once

T = TypeVar("T")
R = TypeVar("R")

FEWEST = 4  # inputs of a part; fewer take more processor time, because operations are small


def in_parts(
    compute: Callable[[Sequence[T]], list[R]], inputs: Sequence[T], device: torch.device
) -> list[R]:
    """Return one result per input, in order; parts of the inputs are computed at once.

    compute: returns the results of a part; a thread calls it, so it must enter the modes of torch
    that it needs. All threads together use `torch.get_num_threads()` threads. The calling thread
    computes all inputs if they are few, on a GPU, under autocast, or if torch has one thread.
    """
    threads = torch.get_num_threads()
    parts = divided(inputs, number_of_parts(len(inputs), threads, device))
    if len(parts) == 1:
        return compute(inputs)
    share = threads // len(parts)
    try:
        results = at_once([partial(_with_threads, share, compute, part) for part in parts])
    finally:
        torch.set_num_threads(threads)  # a thread's number is the default of later threads
    return list(chain.from_iterable(results))


def number_of_parts(inputs: int, threads: int, device: torch.device) -> int:
    """Return the number of parts of a group of inputs."""
    if device.type != "cpu" or torch.is_autocast_enabled("cpu"):  # autocast is set per thread
        return 1
    return max(1, min(threads, inputs // FEWEST))


def divided(inputs: Sequence[T], count: int) -> list[Sequence[T]]:
    """Return consecutive parts of inputs, whose sizes differ by at most one."""
    bounds = [len(inputs) * number // count for number in range(count + 1)]
    return [inputs[start:end] for start, end in pairwise(bounds)]


def _with_threads(
    threads: int, compute: Callable[[Sequence[T]], list[R]], part: Sequence[T]
) -> list[R]:
    """Compute a part with a number of torch threads, which torch sets for the calling thread."""
    torch.set_num_threads(threads)
    return compute(part)
