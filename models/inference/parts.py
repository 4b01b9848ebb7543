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

from models.base.limits import at_once

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
    threads, count = torch.get_num_threads(), len(inputs) // FEWEST
    is_whole = device.type != "cpu" or torch.is_autocast_enabled("cpu")  # autocast is per thread
    count = 1 if is_whole else min(threads, count)
    if count <= 1:
        return compute(inputs)
    bounds = [len(inputs) * number // count for number in range(count + 1)]

    def computed(start: int, end: int) -> list[R]:
        torch.set_num_threads(threads // count)  # of this thread
        return compute(inputs[start:end])

    try:
        results = at_once([partial(computed, *part) for part in pairwise(bounds)])
    finally:
        torch.set_num_threads(threads)  # a thread's number is the default of later threads
    return list(chain.from_iterable(results))
