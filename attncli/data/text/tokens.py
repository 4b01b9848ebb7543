"""Tokenised sentence pairs on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence. `token_writing` writes them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.batching import Examples
from models.base.types import Batch
from models.inference.search.batching import teacher_forcing_batch
from models.text.tokenizer import PAD


@dataclass(frozen=True)
class Side:
    """Token ids of one side of a corpus."""

    ids: np.ndarray  # of all sentences, one after another
    offsets: np.ndarray  # (N + 1,)

    def __getitem__(self, index: int) -> np.ndarray:
        """Return the ids of one sentence, end mark included."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Length of every sentence in tokens, (N,)."""
        return np.diff(self.offsets)

    def lengths_of(self, numbers: np.ndarray) -> np.ndarray:
        """Return the lengths (n,) of some sentences in tokens."""
        return self.offsets[numbers + 1] - self.offsets[numbers]

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the ids (B, T) of some sentences, and their mask (B, T)."""
        lengths = self.lengths_of(numbers)
        ids = np.full((len(numbers), int(lengths.max())), PAD, np.int64)
        columns = np.arange(ids.shape[1])
        mask = columns < lengths[:, None]  # (B, T)
        ids[mask] = self.ids[(self.offsets[numbers][:, None] + columns)[mask]]
        return torch.from_numpy(ids), torch.from_numpy(mask)


@dataclass(frozen=True)
class TokenPairs(Examples):
    """A tokenised parallel corpus."""

    source: Side
    target: Side

    @property
    def count(self) -> int:
        """Number of sentence pairs."""
        return len(self.source.offsets) - 1

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) of every source and of every target, in tokens."""
        return self.source.lengths, self.target.lengths

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some pairs."""
        return teacher_forcing_batch(*self.source.padded(numbers), *self.target.padded(numbers))


class Dropped(NamedTuple):
    """Numbers of pairs that are left out of training, by reason."""

    empty: int
    long: int


def read_pairs(folder: Path) -> TokenPairs:
    """Return the memory-mapped corpus that `token_writing.write_pairs` wrote.

    Raises OSError or ValueError if a file is missing or damaged.
    """
    return TokenPairs(read_side(folder, "source"), read_side(folder, "target"))


def read_side(folder: Path, side: str) -> Side:
    """Return the side that a `SideWriter` wrote; raise OSError or ValueError if it is damaged."""
    offsets = np.load(folder / f"{side}.offsets.npy", mmap_mode="r", allow_pickle=False)
    path = folder / f"{side}.ids"
    if not offsets[-1]:
        return Side(np.zeros(0, "<u2"), offsets)
    kind = {2 * int(offsets[-1]): "<u2", 4 * int(offsets[-1]): "<u4"}.get(path.stat().st_size)
    if kind is None:
        raise ValueError(f"{path.name} does not have the size given by its offsets")
    return Side(np.memmap(path, dtype=kind, mode="r"), offsets)
