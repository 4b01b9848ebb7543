"""Batches by tokens: examples of like length together, in an order that each epoch draws anew.

An example is a sentence pair or a captioned picture. The order depends on the seed and the epoch
alone, so that a resumed run finds its place again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
import torch

from models.types import Batch

POOL = 2**20  # examples sorted by length at a time


class Examples(Protocol):
    """What a model is trained on, whatever its sources are."""

    @property
    def count(self) -> int:
        """Number of examples."""

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions (N,) of every source and of every target; 0 for sources of one size."""

    @property
    def shared(self) -> np.ndarray | None:
        """Number (N,) of what every example should share a batch for, if it gains from that."""

    def at(self, epoch: int) -> Examples:
        """The examples of an epoch, from 0: of the same number and lengths in all."""

    def batch(self, numbers: np.ndarray) -> Batch:
        """Some examples, padded."""


def epoch_plan(examples: Examples, batch_tokens: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """The batches of one epoch, as arrays of example numbers, in the order of training."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(examples.count)
    sources, targets = examples.lengths
    positions = np.maximum(sources, targets)
    plan: list[np.ndarray] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = by_length(pool, examples)
        batches = list(cut(pool, positions[pool], batch_tokens))
        plan.extend(batches[i] for i in random.permutation(len(batches)))
    return plan


def by_length(pool: np.ndarray, examples: Examples) -> np.ndarray:
    """A pool with examples of like length side by side, or those that share a source.

    These come by the longest of them; what is equal otherwise stays in the pool's order.
    """
    (sources, targets), shared = examples.lengths, examples.shared
    if shared is None:
        return pool[np.lexsort((sources[pool], targets[pool]))]
    _, group = np.unique(shared[pool], return_inverse=True)  # (n,) from 0 on
    longest = np.zeros(group.max() + 1, targets.dtype)
    np.maximum.at(longest, group, targets[pool])
    place = np.zeros(len(longest), np.int64)
    place[group] = np.arange(len(pool))
    return pool[np.lexsort((place[group], longest[group]))]


def cut(pool: np.ndarray, lengths: np.ndarray, batch_tokens: int) -> Iterator[np.ndarray]:
    """Cut a sorted pool where (sentences x longest side) would pass the token budget."""
    start, longest = 0, 0
    for index, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if index > start and (index - start + 1) * longest > batch_tokens:
            yield pool[start:index]
            start, longest = index, length
    if start < len(pool):
        yield pool[start:]


def gather(examples: Examples, numbers: np.ndarray, device: torch.device) -> Batch:
    """The padded batch of some examples, where it is needed."""
    return examples.batch(numbers).map(lambda part: part.to(device))
