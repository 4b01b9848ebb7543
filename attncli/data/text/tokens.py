"""Tokenised sentence pairs on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence. Word links that guide an
attention head, if there are any, are stored in a third pair of files. `token_writing` writes them.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.alignments.guides import guide_table
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
        found: np.ndarray = self.offsets[numbers + 1] - self.offsets[numbers]
        return found

    def part(self, start: int, stop: int) -> Side:
        """Return consecutive sentences."""
        return Side(self.ids, self.offsets[start : stop + 1])

    def release(self) -> None:
        """Drop the mapped pages of the files from memory; they are read again when needed."""
        for array in (self.ids, self.offsets):
            base: Any = array
            while isinstance(base, np.ndarray):
                base = base.base
            if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                base.madvise(mmap.MADV_DONTNEED)

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the ids (B, T) of some sentences, and their mask (B, T)."""
        lengths = self.lengths_of(numbers)
        ids = np.full((len(numbers), int(lengths.max())), PAD, np.int64)
        columns = np.arange(ids.shape[1])
        mask = columns < lengths[:, None]  # (B, T)
        ids[mask] = self.ids[(self.offsets[numbers][:, None] + columns)[mask]]
        return torch.from_numpy(ids), torch.from_numpy(mask)


@dataclass(frozen=True)
class TokenPairs:
    """A tokenised parallel corpus."""

    source: Side
    target: Side
    links: Side | None = None  # of each pair: source token, target token, source token, ..

    @property
    def count(self) -> int:
        """Number of sentence pairs."""
        return len(self.source.offsets) - 1

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (N,) of every source and of every target, in tokens."""
        return self.source.lengths, self.target.lengths

    @property
    def shared(self) -> None:
        """None: every pair has a source of its own."""

    def at(self, epoch: int) -> TokenPairs:
        """Return the same pairs in every epoch."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some pairs."""
        batch = teacher_forcing_batch(*self.source.padded(numbers), *self.target.padded(numbers))
        if self.links is None:
            return batch
        shape = batch.target_out.shape[1], batch.source.shape[1]
        table = guide_table([self.links[number] for number in numbers], shape)
        return batch._replace(links=torch.from_numpy(table))


@dataclass(frozen=True)
class SelectedPairs:
    """Some pairs of a tokenised corpus."""

    pairs: TokenPairs
    numbers: np.ndarray  # (n,)

    @property
    def count(self) -> int:
        """Number of selected pairs."""
        return len(self.numbers)

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths (n,) of every source and of every target, in tokens."""
        source, target = self.pairs.source, self.pairs.target
        return source.lengths_of(self.numbers), target.lengths_of(self.numbers)

    @property
    def shared(self) -> None:
        """None: every pair has a source of its own."""

    def at(self, epoch: int) -> SelectedPairs:
        """Return the same pairs in every epoch."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """Return the padded batch of some of the selected pairs."""
        return self.pairs.batch(self.numbers[numbers])


class Dropped(NamedTuple):
    """Numbers of pairs that are left out of training, by reason."""

    empty: int
    long: int


def read_pairs(folder: Path) -> TokenPairs:
    """Return the memory-mapped corpus that `token_writing.write_pairs` wrote.

    Raises OSError or ValueError if a file is missing or damaged.
    """
    names = ["source", "target", *(["links"] if (folder / "links.ids").exists() else [])]
    return TokenPairs(*(read_side(folder, name) for name in names))


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
