"""Tokenised sentence pairs on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence. Word links that guide an
attention head, if there are any, are stored in a third pair of files.
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
from models.files import write_errors
from models.inference.batching import teacher_forcing_batch
from models.tokenizer import PAD, Tokenizer
from models.types import Batch

CHUNK = 10_000  # pairs tokenised at a time


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

    def padded(self, numbers: np.ndarray) -> tuple[Tensor, Tensor]:
        """Return the ids (B, T) of some sentences, and their mask (B, T)."""
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


class Dropped(NamedTuple):
    """Numbers of pairs that are left out of training, by reason."""

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
    """Tokenise pairs into a folder; return how many are left out.

    A pair is left out if a side is empty, or longer than `max_length` tokens. guides: word links of
    each pair, stored with it. advance: receives the number of pairs done.
    """
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
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
            next(beside, None)  # raises an error if there are more links than pairs
        for writer in writers:
            writer.close()
    return Dropped(empty, long)


def read_pairs(folder: Path) -> TokenPairs:
    """Return the memory-mapped corpus that `write_pairs` wrote.

    Raises OSError or ValueError if a file is missing or damaged.
    """
    names = ["source", "target", *(["links"] if (folder / "links.ids").exists() else [])]
    return TokenPairs(*(read_side(folder, name) for name in names))


def id_type(pieces: int) -> np.dtype:
    """Return the integer type of the ids of a vocabulary of so many tokens."""
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


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


def _encoded(chunk: list[tuple[str, str]], tokenizer: Tokenizer) -> Iterator[list[list[int]]]:
    yield [tokenizer.encode(source) for source, _ in chunk]
    yield [tokenizer.encode_target(target) for _, target in chunk]


def _chunks(pairs: Iterable[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    iterator = iter(pairs)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


class SideWriter:
    """Writer of one side's files."""

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
        """Write the remaining sentences and the offsets."""
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
