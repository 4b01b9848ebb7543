"""Tokenisation of sentence pairs into the files that `tokens` maps into memory.

Pairs are encoded in chunks, by as many threads as torch uses.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from itertools import chain, compress
from pathlib import Path

import numpy as np
import torch

from attncli.data.text.tokens import Dropped
from models.base.errors import ModelError
from models.base.files import write_errors
from models.inference.search.batching import windows
from models.text.tokenizer import Tokenizer

CHUNK = 10_000  # pairs encoded at a time


def write_pairs(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    name: str = "",
    max_length: int,
    advance: Callable[[int], None] = lambda done: None,
    take_kept: Callable[[np.ndarray], None] = lambda kept: None,
) -> Dropped:
    """Tokenise pairs into a folder; return how many are left out.

    A pair is left out if a side is empty, or longer than `max_length` tokens. name: of the files,
    for messages. advance: receives the number of pairs done. take_kept: receives, chunk by chunk,
    which pairs are written, (N,). Raises ModelError if no pair is written.
    """
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
        source, target = (SideWriter(folder, side, kind) for side in ("source", "target"))
        empty = long = done = 0
        for chunk in windows(pairs, CHUNK):
            sources, targets = _encoded(chunk, tokenizer)
            sizes = np.array([[*map(len, sources)], [*map(len, targets)]])  # (2, N)
            is_empty = sizes.min(0) < 2
            is_long = ~is_empty & (sizes.max(0) > max_length)
            kept = ~(is_empty | is_long)  # (N,)
            take_kept(kept)
            source.add(compress(sources, kept))
            target.add(compress(targets, kept))
            empty, long = empty + int(is_empty.sum()), long + int(is_long.sum())
            done += len(chunk)
            advance(done)
        source.close()
        target.close()
    dropped = Dropped(empty, long)
    if sum(dropped) == done:
        raise _no_pairs(name, dropped)
    return dropped


def _no_pairs(name: str, dropped: Dropped) -> ModelError:
    return ModelError(
        f"no usable pair in {name}: {dropped.empty:,} have an empty side, "
        f"{dropped.long:,} are longer than data.max_length",
        "text of that length on both sides",
    )


def id_type(pieces: int) -> np.dtype:
    """Return the integer type of the ids of a vocabulary of this size."""
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


def _encoded(
    chunk: list[tuple[str, str]], tokenizer: Tokenizer
) -> tuple[list[list[int]], list[list[int]]]:
    sources, targets = map(list, zip(*chunk, strict=True))
    threads = torch.get_num_threads()
    return tokenizer.encode_sources(sources, threads), tokenizer.encode_targets(targets, threads)


class SideWriter:
    """Writer of one side's files."""

    def __init__(self, folder: Path, side: str, kind: np.dtype) -> None:
        self.offsets_path, self.kind = folder / f"{side}.offsets.npy", kind
        self.file = (folder / f"{side}.ids").open("wb")
        self.lengths = array("I")

    def add(self, rows: Iterable[list[int]]) -> None:
        """Append the ids of some sentences."""
        rows = list(rows)
        self.lengths.extend(map(len, rows))
        self.file.write(np.fromiter(chain.from_iterable(rows), self.kind).tobytes())

    def close(self) -> None:
        """Close the file of ids, and write the offsets."""
        self.file.close()
        offsets = np.zeros(len(self.lengths) + 1, "<i8")
        np.cumsum(self.lengths, out=offsets[1:])
        np.save(self.offsets_path, offsets)
