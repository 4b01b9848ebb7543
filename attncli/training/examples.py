"""The table of training examples, and their batches: similar lengths together, in a random order.

An example is a row of the table. The order depends on the seed and the epoch alone, so a resumed
run continues where it stopped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np

from models.core.types import Batch
from models.search.batching import teacher_forcing_batch
from models.text.tokenizer import PAD

if TYPE_CHECKING:
    from torch import Tensor

POOL = 2**20  # examples sorted by length at a time


class Examples:
    """Training examples of any kind of input."""

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) of every source and of every target; 0 for sources of one size."""
        raise NotImplementedError

    @property
    def count(self) -> int:
        """Number of examples: of an epoch, once `at` has chosen it."""
        return len(self.lengths[1])

    @property
    def shared(self) -> np.ndarray | None:
        """Group id of each example, (N,). Examples of one group are batched together.

        Return None if each example has its own source.
        """
        return None

    def at(self, epoch: int) -> Examples:
        """Return the examples of an epoch, counted from 0; each epoch may have other ones."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return some examples, padded."""
        raise NotImplementedError


class ExampleColumn(Protocol):
    """One input of every example of a table."""

    @property
    def lengths(self) -> np.ndarray:
        """Length (N,) of the input of each example; 0 for inputs of one size."""

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the inputs (B, S, ...) of some examples, padded, and their mask (B, S)."""


@dataclass(frozen=True)
class Side:
    """Token ids of one side of a corpus: a column."""

    ids: np.ndarray  # of all sentences, one after another
    offsets: np.ndarray  # (N + 1,)

    @classmethod
    def of(cls, sentences: Sequence[Sequence[int]]) -> Side:
        """Return the column of some sentences in memory."""
        offsets = np.cumsum([0, *map(len, sentences)])
        return cls(np.array([*chain.from_iterable(sentences)], np.int64), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """Return the ids of one sentence, end mark included."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Length of every sentence in tokens, (N,)."""
        return np.diff(self.offsets)

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the ids (B, T) of some sentences, and their mask (B, T)."""
        import torch

        lengths = self.offsets[numbers + 1] - self.offsets[numbers]
        ids = np.full((len(numbers), int(lengths.max())), PAD, np.int64)
        columns = np.arange(ids.shape[1])
        mask = columns < lengths[:, None]  # (B, T)
        ids[mask] = self.ids[(self.offsets[numbers][:, None] + columns)[mask]]
        return torch.from_numpy(ids), torch.from_numpy(mask)


@dataclass(frozen=True)
class SameSize:
    """Inputs of one size: a column."""

    values: np.ndarray  # (N, S)

    @property
    def lengths(self) -> np.ndarray:
        """Length (N,) of every input: 0."""
        return np.zeros(len(self.values), np.int64)

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return some inputs (B, S), and their mask (B, S)."""
        import torch

        values = torch.from_numpy(self.values[numbers])  # (B, S)
        return values, torch.ones_like(values, dtype=torch.bool)


@dataclass(frozen=True)
class Table(Examples):
    """Examples in columns, which are read from files."""

    source: ExampleColumn
    target: ExampleColumn
    images: ExampleColumn | None = None  # of models of several inputs
    links: Side | None = None  # of each example: slot, target token, slot, target token, ..
    sources: np.ndarray | None = None  # see `shared`: number of the source of each example
    stages: tuple[tuple[int, Table], ...] = ()  # first epoch (from 0) and its table, in order

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) of every source and of every target; 0 for sources of one size."""
        return self.source.lengths, self.target.lengths

    @property
    def shared(self) -> np.ndarray | None:
        """Number of the source of each example, (N,), if a batch encodes each source once."""
        return self.sources

    @property
    def sides(self) -> tuple[Side, Side]:
        """The columns of sentence pairs."""
        assert isinstance(self.source, Side) and isinstance(self.target, Side)
        return self.source, self.target

    def at(self, epoch: int) -> Table:
        """Return the table of an epoch, counted from 0."""
        return next((table for first, table in reversed(self.stages) if first <= epoch), self)

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return some examples, padded, with each source once if they share it."""
        import torch

        first, rows = numbers, None
        if self.shared is not None:
            # an image with five captions is encoded once in a batch: a fifth of the time of its
            # network
            _, places, back = np.unique(
                self.shared[numbers], return_index=True, return_inverse=True
            )
            first, rows = numbers[places], torch.from_numpy(back)
        source = self.source.padded(first)
        batch = teacher_forcing_batch(*source, *self.target.padded(numbers))._replace(rows=rows)
        if self.images is not None:
            batch = batch._replace(images=self.images.padded(numbers)[0])
        if self.links is not None:  # where attention should be, (B, T, S)
            shape = batch.target_out.shape[1], source[1].shape[1]
            pairs = [self.links[number].reshape(-1, 2) for number in numbers]
            batch = batch._replace(regions=torch.from_numpy(target_weights(pairs, shape)))
        return batch


def target_weights(pairs: Sequence[np.ndarray], shape: tuple[int, int]) -> np.ndarray:
    """Return weights (B, T, S) from the token links of pairs; the linked tokens of a row share it.

    shape: T target tokens and S source tokens.
    """
    table = np.zeros((len(pairs), *shape), np.float32)
    for number, links in enumerate(pairs):
        source, target = links.T
        table[number, target, source] = 1
    return table / np.maximum(table.sum(-1, keepdims=True), 1)


def epoch_plan(examples: Examples, batch_tokens: int, *, seed: int, epoch: int) -> list[np.ndarray]:
    """Return the batches of one epoch, as arrays of example numbers, in training order."""
    # by seed and epoch alone, so that a continued run has the same batches
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(examples.count)
    # sorted by both sides, most pairs of a batch would meet again in the next epoch
    positions = np.maximum(*examples.lengths)
    plan: list[np.ndarray] = []
    for start in range(0, len(order), POOL):
        pool = by_length(order[start : start + POOL], positions, examples.shared)
        batches = list(cut(pool, positions[pool], batch_tokens))
        # in a random order, or the lengths of an epoch would rise from batch to batch
        plan.extend(batches[i] for i in random.permutation(len(batches)))
    return plan


def by_length(pool: np.ndarray, positions: np.ndarray, shared: np.ndarray | None) -> np.ndarray:
    """Return a shuffled pool sorted by length, examples of one group next to each other.

    positions (N,): the longer side of every example; a group has the length of its longest. Equal
    lengths keep the pool's random order.
    """
    if shared is None:
        # stable, so that equal lengths keep the random order of this epoch
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
