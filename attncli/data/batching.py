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

    def at(self, epoch: int) -> Examples:
        """The examples of an epoch, from 0: of the same number and lengths in all."""

    def batch(self, numbers: np.ndarray) -> Batch:
        """Some examples, padded."""


def epoch_plan(examples: Examples, batch_tokens: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """The batches of one epoch, as arrays of example numbers, in the order of training."""
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(examples.count)
    sources, targets = examples.lengths
    plan: list[np.ndarray] = []
    for start in range(0, len(order), POOL):
        pool = order[start : start + POOL]
        pool = pool[np.lexsort((sources[pool], targets[pool]))]
        batches = list(cut(pool, np.maximum(sources[pool], targets[pool]), batch_tokens))
        plan.extend(batches[i] for i in random.permutation(len(batches)))
    return plan


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
