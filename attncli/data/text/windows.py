"""Examples of a corpus that is too large to be shuffled at once: a shuffle in two levels.

chunks    consecutive pairs of a direction; an epoch takes them in random order
windows   parts of an epoch, each with an equal part of the chunks of every direction; the examples
          of a window are shuffled, varied and sorted into batches as those of a small corpus are

All random choices depend only on the seed, the epoch and the window, so a resumed run equals an
uninterrupted one. Only the current window is in memory.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, overload

import numpy as np

from attncli.data.batching import Examples, shuffled_batches
from attncli.data.text.mixture import Direction
from models.base.types import Batch

CHUNKS = 16  # size of a window in chunks
STRIDE = 2**32  # example n of window w has the number w * STRIDE + n
ORDER, BATCHES = 2, 3  # parts of random seeds: order of the chunks, order of the batches
OPEN = 2  # windows in memory, because an update may have batches of two


class PairRange(NamedTuple):
    """Consecutive pairs of a direction: a chunk, or a part of one."""

    direction: int
    start: int
    stop: int


Select = Callable[[Sequence[PairRange], int, int], Examples]  # receives pieces, epoch and window


@dataclass(frozen=True)
class WindowedExamples:
    """Examples of a large corpus, in windows."""

    directions: tuple[Direction, ...]
    quotas: tuple[int, ...]  # pairs of each direction in an epoch
    size: int  # pairs of a window, at most
    seed: int
    select: Select  # returns the examples of a window
    epoch: int = 0
    opened: dict[int, Examples] = field(default_factory=dict)  # windows in memory

    @property
    def count(self) -> int:
        """Number of pairs of an epoch."""
        return sum(self.quotas)

    @property
    def windows(self) -> int:
        """Number of windows of an epoch."""
        return -(-self.count // self.size)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (n,) of the sources and targets of the first window: a sample of the corpus."""
        return self.select(self.pieces(0), self.epoch, 0).lengths

    @property
    def shared(self) -> None:
        """None: every example has a source of its own."""

    def at(self, epoch: int) -> WindowedExamples:
        """Return the examples of an epoch, counted from 0."""
        return replace(self, epoch=epoch, opened={})

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some examples of one window."""
        return self.window(int(numbers[0]) // STRIDE).batch(numbers % STRIDE)

    def window(self, number: int) -> Examples:
        """Return the examples of a window, numbered from 0."""
        if number not in self.opened:
            while len(self.opened) >= OPEN:
                self.opened.pop(next(iter(self.opened)))
            self._release()
            self.opened[number] = self.select(self.pieces(number), self.epoch, number)
        return self.opened[number]

    def pieces(self, number: int) -> list[PairRange]:
        """Return the pairs of a window: an equal part of every direction."""
        return [
            piece
            for place, quota in enumerate(self.quotas)
            for piece in self._stretch(
                place, quota * number // self.windows, quota * (number + 1) // self.windows
            )
        ]

    def _stretch(self, place: int, start: int, stop: int) -> Iterator[PairRange]:
        """Yield positions `start` to `stop` of a direction's epoch, which may repeat its pairs."""
        pairs = self.directions[place].pairs
        chunk = max(1, self.size // CHUNKS)
        while start < stop:
            turn = start // pairs
            end = min(stop, (turn + 1) * pairs)
            random = np.random.default_rng([self.seed, self.epoch, ORDER, place, turn])
            position = turn * pairs
            for number in random.permutation(-(-pairs // chunk)).tolist():
                first = number * chunk
                length = min(chunk, pairs - first)
                here, last = max(start, position), min(end, position + length)
                if here < last:
                    yield PairRange(place, first + here - position, first + last - position)
                position += length
            start = end

    def _release(self) -> None:
        for direction in self.directions:
            for side in filter(None, (direction.source, direction.target, direction.links)):
                side.release()


class WindowedPlan(Sequence[np.ndarray]):
    """The batches of an epoch in training order, computed window by window."""

    def __init__(self, examples: WindowedExamples, batch_tokens: int, *, both_sides: bool) -> None:
        self.examples, self.batch_tokens, self.both_sides = examples, batch_tokens, both_sides
        self._current: tuple[int, list[np.ndarray]] = (-1, [])

    @cached_property
    def starts(self) -> list[int]:
        """Number of the first batch of every window, and the number of all batches."""
        sizes = [len(self._batches(number)) for number in range(self.examples.windows)]
        return [0, *np.cumsum(sizes).tolist()]

    def __len__(self) -> int:
        """Return the number of batches of the epoch."""
        return self.starts[-1]

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, index: slice) -> list[np.ndarray]: ...

    def __getitem__(self, index: int | slice) -> np.ndarray | list[np.ndarray]:
        """Return a batch, or several, as arrays of example numbers."""
        if isinstance(index, slice):
            return [self[number] for number in range(*index.indices(len(self)))]
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        index %= len(self)
        window = bisect_right(self.starts, index) - 1
        numbers = self._batches(window)[index - self.starts[window]]
        return numbers + window * STRIDE

    def _batches(self, window: int) -> list[np.ndarray]:
        """Return the batches of a window, as arrays of its own example numbers."""
        if self._current[0] != window:
            self._current = (-1, [])  # frees the memory of the other window first
            examples = self.examples
            random = np.random.default_rng([examples.seed, examples.epoch, BATCHES, window])
            batches = shuffled_batches(
                examples.window(window),
                self.batch_tokens,
                random=random,
                both_sides=self.both_sides,
            )
            self._current = (window, batches)
        return self._current[1]
