"""Batches by tokens: examples of similar length together, in a new random order each epoch.

An example is a sentence pair or a captioned image. The order depends on the seed and the epoch
alone, so a resumed run continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.core.types import Batch, to_device

if TYPE_CHECKING:
    import torch

POOL = 2**20  # examples sorted by length at a time


class Examples(Protocol):
    """Training examples of any kind of source."""

    @property
    def count(self) -> int:
        """Number of examples."""

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) of every source and of every target; 0 for sources of one size."""

    @property
    def shared(self) -> np.ndarray | None:
        """Group id of each example, (N,). Examples of one group are batched together.

        None: every example has a source of its own.
        """
        return None

    def at(self, epoch: int) -> Examples:
        """Return the examples of an epoch, counted from 0; each epoch may have other ones."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return some examples, padded."""


def epoch_plan(examples: Examples, batch_tokens: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """Return the batches of one epoch, as arrays of example numbers, in training order."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(examples.count)
    positions = np.maximum(*examples.lengths)
    plan: list[np.ndarray] = []
    for start in range(0, len(order), POOL):
        pool = by_length(order[start : start + POOL], positions, examples.shared)
        batches = list(cut(pool, positions[pool], batch_tokens))
        plan.extend(batches[i] for i in random.permutation(len(batches)))
    return plan


def by_length(pool: np.ndarray, positions: np.ndarray, shared: np.ndarray | None) -> np.ndarray:
    """Return a shuffled pool sorted by length, examples of one group next to each other.

    positions (N,): the longer side of every example; a group has the length of its longest. Equal
    lengths keep the pool's random order.
    """
    if shared is None:
        return pool[np.argsort(positions[pool], kind="stable")]
    _, group = np.unique(shared[pool], return_inverse=True)  # (n,) from 0 on
    longest = np.zeros(group.max() + 1, positions.dtype)
    np.maximum.at(longest, group, positions[pool])
    place = np.zeros(len(longest), np.int64)
    place[group] = np.arange(len(pool))
    return pool[np.lexsort((place[group], longest[group]))]


def cut(pool: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> Iterator[np.ndarray]:
    """Cut a pool wherever (sentences x longest side) would exceed the token budget."""
    start, longest = 0, 0
    for index, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if index > start and (index - start + 1) * longest > batch_tokens:
            yield pool[start:index]
            start, longest = index, length
    if start < len(pool):
        yield pool[start:]


def gather(examples: Examples, numbers: np.ndarray, device: torch.device) -> Batch:
    """Return the padded batch of some examples on a device."""
    return examples.batch(numbers).map(lambda part: to_device(part, device))
