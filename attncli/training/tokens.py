"""Columns of token ids on disk, memory-mapped, so that memory does not limit their number.

A side is two files: `.ids`, the ids of all sentences one after another, two bytes each (four bytes
from 65,536 tokens on), and `.offsets`, the position of each sentence.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import compress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.training.examples import Side, Table
from models.core.errors import ModelError
from models.core.files import write_errors
from models.search.batching import windows
from models.text.tokenizer import Tokenizer

# SentencePiece encodes a list of texts in several threads, one text in one
CHUNK = 10_000  # pairs encoded at a time
SIDES = ("source", "target")


class Dropped(NamedTuple):
    """Numbers of pairs that are left out of training, by reason."""

    empty: int
    long: int


def read_pairs(folder: Path) -> Table:
    """Return the memory-mapped corpus that `write_pairs` wrote, with its links if it has some.

    Raises OSError or ValueError if a file is missing or damaged.
    """
    source, target = (read_side(folder, side) for side in SIDES)
    return Table(source, target, links=read_links(folder))


def read_links(folder: Path) -> Side | None:
    """Return the linked tokens that `write_links` wrote, if any."""
    return read_side(folder, "links") if (folder / "links.ids").exists() else None


def write_links(folder: Path, pairs: Iterable[np.ndarray]) -> None:
    """Write the linked tokens (N, 2) of each pair that is trained on."""
    writer = SideWriter(folder, "links", np.dtype(np.uint32))
    writer.add(links.flatten() for links in pairs)
    writer.close()


def read_side(folder: Path, side: str) -> Side:
    """Return the side that a `SideWriter` wrote; raise OSError or ValueError if it is damaged."""
    offsets = np.load(folder / f"{side}.offsets.npy", mmap_mode="r", allow_pickle=False)
    path = folder / f"{side}.ids"
    if not offsets[-1]:
        # an empty file cannot be memory-mapped
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
    sides: Sequence[str] = SIDES,
    name: str = "",
    advance: Callable[[int], None] = lambda done: None,
) -> tuple[Dropped, np.ndarray]:
    """Tokenise pairs into a folder; return how many are left out, and which are written, (N,).

    A pair is left out if a side is empty, or longer than `max_length` tokens. sides: those that are
    tokenised. name: of the files, for messages. advance: receives the number of pairs done. Raises
    ModelError if none is written.
    """
    import torch

    threads, kept, empty = torch.get_num_threads(), [np.zeros(0, bool)], 0
    kind = id_type(max(len(tokenizer.source), len(tokenizer.target)))
    with write_errors(folder):
        writers = [SideWriter(folder, side, kind) for side in sides]
        for chunk in windows(pairs, CHUNK):
            texts = dict(zip(SIDES, zip(*chunk, strict=True), strict=True))
            encode = {"source": tokenizer.encode_sources, "target": tokenizer.encode_targets}
            rows = [encode[side](list(texts[side]), threads) for side in sides]
            sizes = np.array([[*map(len, side)] for side in rows])  # (sides, N)
            is_empty = sizes.min(0) <= tokenizer.empty
            kept.append(~is_empty & (sizes.max(0) <= max_length))
            for writer, side in zip(writers, rows, strict=True):
                writer.add(compress(side, kept[-1]))
            empty += int(is_empty.sum())
            advance(sum(map(len, kept)))
        for writer in writers:
            writer.close()
    written = np.concatenate(kept)
    dropped = Dropped(empty, int((~written).sum()) - empty)
    if not written.any():
        raise _none_written(name, dropped, max_length)
    return dropped, written


def _none_written(name: str, dropped: Dropped, longest: int) -> ModelError:
    return ModelError(
        f"no usable pair in {name}: {dropped.empty:,} have an empty side, "
        f"{dropped.long:,} are longer than {longest:,} tokens",
        "text of that length",
        "raise data.max_length and model.max_source" if dropped.long else "",
    )


def id_type(pieces: int) -> np.dtype:
    """Return the integer type of the ids of a vocabulary of this size."""
    # two bytes hold the ids of most vocabularies, in half of the disk and cache
    return np.dtype("<u4" if pieces > 2**16 else "<u2")


class SideWriter:
    """Writer of one side's files. end: of the name of the file of numbers."""

    def __init__(self, folder: Path, side: str, kind: np.dtype, end: str = "ids") -> None:
        self.offsets_path, self.kind = folder / f"{side}.offsets.npy", kind
        self.file = (folder / f"{side}.{end}").open("wb")
        # four bytes each, where a list of ints takes thirty-six
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
