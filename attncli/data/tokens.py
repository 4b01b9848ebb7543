"""Columns of token ids on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attncli.data.examples import Side, Table
from models.core.errors import ModelError
from models.core.files import write_errors
from models.search.batching import windows
from models.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    pass

CHUNK = 10_000  # pairs encoded at a time


class Dropped(NamedTuple):
    """Numbers of pairs that are left out of training, by reason."""

    empty: int
    long: int


def read_pairs(folder: Path) -> Table:
    """Return the memory-mapped corpus that `write_pairs` wrote, with its links if it has some.

    Raises OSError or ValueError if a file is missing or damaged.
    """
    links = read_side(folder, "links") if (folder / "links.ids").exists() else None
    return Table(read_side(folder, "source"), read_side(folder, "target"), links=links)


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


def write_pairs(
    pairs: Iterable[tuple[str, str]],
    tokenizer: Tokenizer,
    folder: Path,
    *,
    max_length: int,
    name: str = "",
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[Dropped, np.ndarray]:
    """Tokenise pairs into a folder; return how many are left out, and which are written, (N,).

    A pair is left out if a side is empty, or longer than `max_length` tokens. name: of the files,
    for messages. advance: receives the number of pairs done. Raises ModelError if none is written.
    """
    import torch

    threads, kept, empty = torch.get_num_threads(), [np.zeros(0, bool)], 0
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
        source, target = (SideWriter(folder, side, kind) for side in ("source", "target"))
        for chunk in windows(pairs, CHUNK):
            texts = [list(side) for side in zip(*chunk, strict=True)]
            sources = tokenizer.encode_sources(texts[0], threads)
            targets = tokenizer.encode_targets(texts[1], threads)
            sizes = np.array([[*map(len, sources)], [*map(len, targets)]])  # (2, N)
            is_empty = sizes.min(0) <= tokenizer.empty
            kept.append(~is_empty & (sizes.max(0) <= max_length))
            source.add(compress(sources, kept[-1]))
            target.add(compress(targets, kept[-1]))
            empty += int(is_empty.sum())
            advance(sum(map(len, kept)))
        source.close()
        target.close()
    written = np.concatenate(kept)
    dropped = Dropped(empty, int((~written).sum()) - empty)
    if not written.any():
        raise _none_written(name, dropped, max_length)
    return dropped, written


def _none_written(name: str, dropped: Dropped, longest: int) -> ModelError:
    return ModelError(
        f"no usable pair in {name}: {dropped.empty:,} have an empty side, "
        f"{dropped.long:,} are longer than {longest:,} tokens",
        "text of that length on both sides",
        "raise data.max_length and model.max_source" if dropped.long else "",
    )


def id_type(pieces: int) -> np.dtype:
    """Return the integer type of the ids of a vocabulary of this size."""
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


class SideWriter:
    """Writer of one side's files. end: of the name of the file of numbers."""

    def __init__(self, folder: Path, side: str, kind: np.dtype, end: str = "ids") -> None:
        self.offsets_path, self.kind = folder / f"{side}.offsets.npy", kind
        self.file = (folder / f"{side}.{end}").open("wb")
        self.lengths = array("I")

    def add(self, rows: Iterable[Sequence[int] | np.ndarray]) -> None:
        """Append the ids of some sentences."""
        for row in rows:
            self.lengths.append(len(row))
            self.file.write(np.asarray(row, self.kind).tobytes())

    def close(self) -> None:
        """Close the file of ids, and write the offsets."""
        self.file.close()
        offsets = np.zeros(len(self.lengths) + 1, "<i8")
        np.cumsum(self.lengths, out=offsets[1:])
        np.save(self.offsets_path, offsets)
