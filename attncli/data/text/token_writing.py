"""Tokenisation of sentence pairs into the files that `tokens` maps into memory.

Pairs are encoded in chunks, by as many threads as torch uses.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import torch

from attncli.data.text.tokens import Dropped
from models.base.files import write_errors
from models.inference.search.batching import windows
from models.text.tokenizer import Tokenizer

CHUNK = 10_000  # pairs encoded at a time


class TokenRows(NamedTuple):
    """Token ids of some sentences."""

    ids: np.ndarray  # of all sentences, one after another
    lengths: np.ndarray  # (N,)

    @classmethod
    def of(cls, rows: list[list[int]]) -> TokenRows:
        """Return some sentences as arrays."""
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        return cls(np.fromiter(chain.from_iterable(rows), np.uint32, int(lengths.sum())), lengths)

    def where(self, kept: np.ndarray) -> TokenRows:
        """Return the sentences for which `kept` (N,) is True."""
        if kept.all():
            return self
        return TokenRows(self.ids[np.repeat(kept, self.lengths)], self.lengths[kept])


def write_pairs(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    max_length: int,
    advance: Callable[[int], None] = lambda done: None,
    take_kept: Callable[[np.ndarray], None] = lambda kept: None,
) -> Dropped:
    """Tokenise pairs into a folder; return how many are left out.

    A pair is left out if a side is empty, or longer than `max_length` tokens. advance: receives the
    number of pairs done. take_kept: receives, chunk by chunk, which pairs are written, (N,).
    """
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
        source, target = (SideWriter(folder, side, kind) for side in ("source", "target"))
        empty = long = done = 0
        for chunk in windows(pairs, CHUNK):
            sources, targets = _encoded(chunk, tokenizer)
            is_empty = np.minimum(sources.lengths, targets.lengths) < 2
            is_long = ~is_empty & (np.maximum(sources.lengths, targets.lengths) > max_length)
            kept = ~(is_empty | is_long)  # (N,)
            take_kept(kept)
            source.add_rows(sources.where(kept))
            target.add_rows(targets.where(kept))
            empty, long = empty + int(is_empty.sum()), long + int(is_long.sum())
            done += len(chunk)
            advance(done)
        source.close()
        target.close()
    return Dropped(empty, long)


def id_type(pieces: int) -> np.dtype:
    """Return the integer type of the ids of a vocabulary of this size."""
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


def _encoded(chunk: list[tuple[str, str]], tokenizer: Tokenizer) -> tuple[TokenRows, TokenRows]:
    sources, targets = map(list, zip(*chunk, strict=True))
    threads = torch.get_num_threads()
    return (
        TokenRows.of(tokenizer.encode_sources(sources, threads)),
        TokenRows.of(tokenizer.encode_targets(targets, threads)),
    )


class SideWriter:
    """Writer of one side's files."""

    def __init__(self, folder: Path, side: str, kind: np.dtype) -> None:
        self.offsets_path, self.kind = folder / f"{side}.offsets.npy", kind
        self.file = (folder / f"{side}.ids").open("wb")
        self.lengths: list[np.ndarray] = []
        self.pending: list[list[int]] = []

    def add(self, ids: list[int]) -> None:
        """Append one sentence."""
        self.pending.append(ids)
        if len(self.pending) >= CHUNK:
            self._write()

    def add_rows(self, rows: TokenRows) -> None:
        """Append some sentences."""
        self._write()
        self._append(rows)

    def _write(self) -> None:
        self._append(TokenRows.of(self.pending))
        self.pending.clear()

    def _append(self, rows: TokenRows) -> None:
        self.file.write(rows.ids.astype(self.kind).tobytes())
        self.lengths.append(rows.lengths.astype(np.uint32))

    def close(self) -> None:
        """Write the remaining sentences and the offsets."""
        self._write()
        with self.file as file:
            _flush(file)
        with self.offsets_path.open("wb") as file:
            write_offsets(file, self.lengths)
            _flush(file)


def write_offsets(file: BinaryIO, lengths: list[np.ndarray]) -> None:
    """Write the position of each sentence, and of the end, as numpy.save does, but in parts."""
    shape = (1 + sum(map(len, lengths)),)
    header = {"descr": "<i8", "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    end = np.zeros(1, "<i8")
    file.write(end.tobytes())
    for part in filter(len, lengths):
        offsets = end + np.cumsum(part, dtype="<i8")
        file.write(offsets.tobytes())
        end = offsets[-1:]


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
