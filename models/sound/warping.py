"""Times of tokens by dynamic time warping of attention.

The path (t, s) goes from the first token and slot to the last ones in steps of at most one of each;
it has the greatest sum of weights. A token begins at the first slot of its row.
Sakoe and Chiba 1978; Radford et al. 2022 for the times of words
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

Matrix = NDArray[numpy.floating[Any]]


def first_slots(weights: Matrix) -> list[int]:
    """Return the slot at which each token begins, given weights (T, S)."""
    tokens, slots = weights.shape
    trace = _steps(-weights)
    token, slot, starts = tokens - 1, slots - 1, [0] * tokens
    while token > 0:
        step = trace[token, slot]
        if step != 2:  # the token before this one ends here
            starts[token] = int(slot)
            token -= 1
        slot -= step != 1
    return starts


def _steps(costs: Matrix) -> NDArray[numpy.int8]:
    """Return the last step to each cell: 0 of both, 1 of a token, 2 of a slot.

    The cells of a diagonal, whose t + s is equal, are computed at once.
    """
    tokens, slots = costs.shape
    trace = numpy.full((tokens, slots), 2, numpy.int8)
    trace[1:, 0] = 1
    last = numpy.full(tokens + 1, numpy.inf, "f4")  # of the diagonal before; index t + 1
    before = last.copy()
    before[0] = 0  # above and left of the first cell
    for diagonal in range(tokens + slots - 1):
        rows = numpy.arange(max(0, diagonal - slots + 1), min(tokens, diagonal + 1))
        both, token, slot = before[rows], last[rows], last[rows + 1]
        found = numpy.full(tokens + 1, numpy.inf, "f4")
        steps = numpy.where((both < token) & (both < slot), 0, 2)
        steps = numpy.where((token < both) & (token < slot), 1, steps)
        best = numpy.choose(steps, (both, token, slot))
        found[rows + 1] = costs[rows, diagonal - rows] + best
        trace[rows, diagonal - rows] = steps
        before, last = last, found
    return trace


def smoothed(weights: Matrix, width: int) -> Matrix:
    """Return the median of `width` slots, an odd number, around each slot of weights (.., S)."""
    half = width // 2
    if weights.shape[-1] <= half:
        return weights
    padded = numpy.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(half, half)], "reflect")
    views = numpy.lib.stride_tricks.sliding_window_view(padded, width, -1)
    found: Matrix = numpy.median(views, -1)
    return found
