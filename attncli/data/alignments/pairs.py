"""Sentence pairs under the pipe contract: a line of a stream each, or a line in each of two files.

A line holds source and target with a tab between or, where it has none, ` ||| `; further columns
are ignored. An empty line is an empty pair.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from attncli.data.lines import CHUNK_LINES, Line
from attncli.data.text.corpus import BARS, aligned, cells, separator_of


class PairLine(NamedTuple):
    """A source and its translation."""

    number: int  # from 1
    source: str
    target: str
    ending: str = "\n"
    fault: str = ""  # why there is no pair


def pairs_of_lines(chunks: Iterable[list[Line]]) -> Iterator[list[PairLine]]:
    """Yield the pairs of a stream's lines."""
    for chunk in chunks:
        yield [pair_of(line) for line in chunk]


def pairs_of_files(source: Path, target: Path) -> Iterator[list[PairLine]]:
    """Yield the pairs of two parallel files; a ModelError if one has more lines.

    Accents stay as written, as in `pairs_of_lines`; the model that reads a pair composes them.
    """
    rows = enumerate(aligned([source, target], as_written=True), 1)
    while chunk := [PairLine(number, *row) for number, row in islice(rows, CHUNK_LINES)]:
        yield chunk


def pair_of(line: Line) -> PairLine:
    """Return the pair of a line."""
    number, text, ending, fault = line
    row = cells(text, separator_of(text))
    if not fault and text.strip() and len(row) < 2:
        fault = f"without a tab or {BARS} between source and target"
    source, target = ("", "") if fault or len(row) < 2 else row[:2]
    return PairLine(number, source, target, ending, fault)
