"""Tokenised sentence pairs on disk, memory-mapped: ten million pairs cost no more than their ids.

A side is two files: `.ids`, all ids end to end, two bytes each (four from 65,536 pieces on), and
`.offsets`, where each sentence starts. Links that guide the attention, where there are some, are a
third such pair of files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, repeat
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attncli.data.guides import Guide, guide_table, piece_links
from models.files import refused
from models.inference.batching import teacher_forcing_batch
from models.tokenizer import PAD, Tokenizer
from models.types import Batch

CHUNK = 10_000  # pairs tokenised at a time


@dataclass(frozen=True)
class Side:
    """One language of a corpus."""

    ids: np.ndarray  # all sentences end to end
    offsets: np.ndarray  # (N + 1,)

    def __getitem__(self, index: int) -> np.ndarray:
        """The ids of one sentence, end mark included."""
        return self.ids[self.offsets[index] : self.offsets[index + 1]]

    @property
    def lengths(self) -> np.ndarray:
        """Pieces of every sentence (N,)."""
        return np.diff(self.offsets)

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Ids (B, T) of some sentences, and the mask (B, T) of what is real."""
        lengths = self.offsets[numbers + 1] - self.offsets[numbers]
        ids = np.full((len(numbers), int(lengths.max())), PAD, np.int64)
        for row, number in enumerate(numbers):
            ids[row, : lengths[row]] = self[number]
        mask = np.arange(ids.shape[1]) < lengths[:, None]
        return torch.from_numpy(ids), torch.from_numpy(mask)


@dataclass(frozen=True)
class TokenPairs:
    """A tokenised parallel corpus."""

    source: Side
    target: Side
    links: Side | None = None  # source piece, target piece, and so on: where to look

    @property
    def count(self) -> int:
        """Number of sentence pairs."""
        return len(self.source.offsets) - 1

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Pieces (N,) of every source and of every target."""
        return self.source.lengths, self.target.lengths

    @property
    def shared(self) -> None:
        """Nothing: every pair has a source of its own."""

    def at(self, epoch: int) -> TokenPairs:
        """The same in every epoch."""
        return self

    def batch(self, numbers: np.ndarray) -> Batch:
        """The padded batch of some pairs."""
        batch = teacher_forcing_batch(*self.source.padded(numbers), *self.target.padded(numbers))
        if self.links is None:
            return batch
        shape = batch.target_out.shape[1], batch.source.shape[1]
        table = guide_table([self.links[number] for number in numbers], shape)
        return batch._replace(links=torch.from_numpy(table))


class Dropped(NamedTuple):
    """Pairs left out of training, by reason."""

    empty: int
    long: int


def write_pairs(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    max_length: int,
    guides: Iterable[Guide] | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Dropped:
    """Tokenise pairs into a folder; those with an empty or over-long side are left out, counted.

    guides: the links of each pair, which are kept with it.
    """
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with refused(folder):
        names = ("source", "target", *(() if guides is None else ("links",)))
        writers = [SideWriter(folder, side, kind) for side in names]
        empty = long = done = 0
        beside = repeat(None) if guides is None else iter(guides)
        for chunk in _chunks(pairs):
            encoded = zip(*_encoded(chunk, tokenizer), strict=True)
            for (source, target), guide in zip(encoded, beside, strict=False):
                if len(source) < 2 or len(target) < 2:
                    empty += 1
                elif max(len(source), len(target)) > max_length:
                    long += 1
                else:
                    writers[0].add(source)
                    writers[1].add(target)
                    if guide is not None:
                        writers[2].add(piece_links(guide, source, target, tokenizer))
            done += len(chunk)
            advance(done)
        if guides is not None:
            next(beside, None)  # it sees whether there are more of them than pairs
        for writer in writers:
            writer.close()
    return Dropped(empty, long)


def read_pairs(folder: Path) -> TokenPairs:
    """The memory-mapped corpus that `write_pairs` left in a folder.

    Raises OSError or ValueError where a file is missing or damaged.
    """
    names = ["source", "target", *(["links"] if (folder / "links.ids").exists() else [])]
    return TokenPairs(*(read_side(folder, name) for name in names))


def id_type(pieces: int) -> np.dtype:
    """The type in which ids of so many pieces are written."""
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


def read_side(folder: Path, side: str) -> Side:
    """The memory-mapped side that a `SideWriter` left; OSError or ValueError if it is damaged."""
    offsets = np.load(folder / f"{side}.offsets.npy", mmap_mode="r", allow_pickle=False)
    path = folder / f"{side}.ids"
    if not offsets[-1]:
        return Side(np.zeros(0, "<u2"), offsets)
    kind = {2 * int(offsets[-1]): "<u2", 4 * int(offsets[-1]): "<u4"}.get(path.stat().st_size)
    if kind is None:
        raise ValueError(f"{path.name} has not the size that its offsets say")
    return Side(np.memmap(path, dtype=kind, mode="r"), offsets)


def _encoded(chunk: list[tuple[str, str]], tokenizer: Tokenizer) -> Iterator[list[list[int]]]:
    yield [tokenizer.encode(source) for source, _ in chunk]
    yield [tokenizer.encode_target(target) for _, target in chunk]


def _chunks(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


class SideWriter:
    """Appends sentences to one side's files."""

    def __init__(self, folder: Path, side: str, kind: np.dtype) -> None:
        self.offsets_path, self.kind = folder / f"{side}.offsets.npy", kind
        self.file = (folder / f"{side}.ids").open("wb")
        self.lengths = [np.zeros(1, np.int64)]
        self.pending: list[list[int]] = []

    def add(self, ids: list[int]) -> None:
        """Append one sentence."""
        self.pending.append(ids)
        if len(self.pending) >= CHUNK:
            self._write()

    def _write(self) -> None:
        self.file.write(np.concatenate([np.asarray(i, self.kind) for i in self.pending]).tobytes())
        self.lengths.append(np.array([len(i) for i in self.pending], np.int64))
        self.pending.clear()

    def close(self) -> None:
        """Write the rest, and where each sentence starts."""
        if self.pending:
            self._write()
        with self.file as file:
            _flush(file)
        with self.offsets_path.open("wb") as file:
            np.save(file, np.cumsum(np.concatenate(self.lengths)), allow_pickle=False)
            _flush(file)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
