"""Sentence pairs in groups of equal lengths, and the table of their different pairs of words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from models.align_train.tables import MAX_WORDS, normalised

# bounds the memory of a group; sentences of equal lengths need no padding
CELLS = 2**20  # of one group


class Group(NamedTuple):
    """Sentence pairs with the same numbers of words: N pairs, I source and J target words.

    Every source word of a sentence pair meets every target word in a cell, which holds the number
    of its pair of words in the table of all different ones.
    """

    numbers: tuple[int, ...]  # of the sentence pairs
    cells: Tensor  # (N, J, I) number of each pair of words
    source: Tensor  # (N, I) word numbers
    target: Tensor  # (N, J)

    def turned(self) -> Group:
        """Return the group with source and target exchanged."""
        return Group(self.numbers, self.cells.mT, self.target, self.source)


class WordPairs(NamedTuple):
    """All sentence pairs in groups, and the table of K different pairs of words."""

    groups: tuple[Group, ...]
    source: Tensor  # (K,) source word of each pair of words
    target: Tensor  # (K,)
    source_words: tuple[str, ...]  # different ones, normalised; a word's number is its place
    target_words: tuple[str, ...]

    def turned(self) -> WordPairs:
        """Return the table with source and target exchanged."""
        groups = tuple(group.turned() for group in self.groups)
        return WordPairs(groups, self.target, self.source, self.target_words, self.source_words)


def word_pairs(pairs: Sequence[tuple[str, str]]) -> WordPairs:
    """Return the groups and the table of sentence pairs; words are separated by spaces.

    Sentence pairs with an empty side, or with more than MAX_WORDS words, are left out.
    """
    source, sources = numbered([pair[0] for pair in pairs])
    target, targets = numbered([pair[1] for pair in pairs])
    parts = list(same_lengths(source, target))
    keys = [_keys(source, target, part, len(targets)) for part in parts]
    flat = np.concatenate([key.ravel() for key in keys] or [np.zeros(0, np.int64)])
    # only pairs of words that meet have an entry; a table of all words would be quadratic
    table, cells = np.unique(flat, return_inverse=True)
    groups, start = [], 0
    for part, key in zip(parts, keys, strict=True):
        inside = torch.from_numpy(cells[start : start + key.size].reshape(key.shape))
        sides = (torch.tensor([side[n] for n in part]) for side in (source, target))
        groups.append(Group(part, inside, *sides))
        start += key.size
    size = max(len(targets), 1)
    which = torch.from_numpy(table // size), torch.from_numpy(table % size)
    return WordPairs(tuple(groups), *which, sources, targets)


def numbered(texts: Sequence[str]) -> tuple[list[list[int]], tuple[str, ...]]:
    """Return the word numbers of texts, and the different words."""
    known: dict[str, int] = {}
    written: dict[str, int] = {}
    numbers = []
    for text in texts:
        row = []
        for word in text.split():
            if word not in written:
                written[word] = known.setdefault(normalised(word), len(known))
            row.append(written[word])
        numbers.append(row)
    return numbers, tuple(known)


def same_lengths(
    source: Sequence[Sequence[int]], target: Sequence[Sequence[int]]
) -> Iterator[tuple[int, ...]]:
    """Yield the numbers of sentence pairs with equal lengths, at most CELLS cells at a time."""
    found: dict[tuple[int, int], list[int]] = {}
    for number, (a, b) in enumerate(zip(source, target, strict=True)):
        if 0 < len(a) <= MAX_WORDS and 0 < len(b) <= MAX_WORDS:
            found.setdefault((len(a), len(b)), []).append(number)
    for (a_words, b_words), numbers in found.items():
        size = max(1, CELLS // (a_words * b_words))
        for start in range(0, len(numbers), size):
            yield tuple(numbers[start : start + size])


def _keys(
    source: Sequence[Sequence[int]],
    target: Sequence[Sequence[int]],
    part: tuple[int, ...],
    targets: int,
) -> np.ndarray:
    """Return a number (N, J, I) for each cell that is the same for the same pair of words."""
    first = np.array([source[n] for n in part], np.int64)
    second = np.array([target[n] for n in part], np.int64)
    return first[:, None, :] * targets + second[:, :, None]
