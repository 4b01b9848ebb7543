"""Columns of token ids on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from attncli.data.examples import Table
from models.core.errors import ModelError
from models.core.files import write_errors
from models.search.batching import windows
from models.text.tokenizer import PAD, Tokenizer

if TYPE_CHECKING:
    from torch import Tensor

CHUNK = 10_000  # pairs encoded at a time


@dataclass(frozen=True)
class Side:
    """Token ids of one side of a corpus."""

    ids: np.ndarray  # of all sentences, one after another
    offsets: np.ndarray  # (N + 1,)

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
    import torch

    threads = torch.get_num_threads()
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
        source, target = (SideWriter(folder, side, kind) for side in ("source", "target"))
        empty = long = done = 0
        for chunk in windows(pairs, CHUNK):
            texts = map(list, zip(*chunk, strict=True))
            sources = tokenizer.encode_sources(next(texts), threads)
            targets = tokenizer.encode_targets(next(texts), threads)
            sizes = np.array([[*map(len, sources)], [*map(len, targets)]])  # (2, N)
            is_empty = sizes.min(0) <= tokenizer.empty
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
        raise ModelError(
            f"no usable pair in {name}: {empty:,} have an empty side, "
            f"{long:,} are longer than {max_length:,} tokens",
            "text of that length on both sides",
            "raise data.max_length and model.max_source" if long else "",
        )
    return dropped


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
