"""Parallel text for training and evaluation: aligned lines of files, plain or compressed.

A corpus is a source file and one or more reference files with the same number of lines, or one
table whose columns (source, reference, further references) are separated by tabs or ` ||| `. The
rows of a table may have different numbers of references. A column with a licence, as in the tables
of Tatoeba, is ignored. Only the current line is in memory. A pattern such as `data/*.tsv` names all
files that match it, in alphabetical order. `text_files` reads the lines.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, cast

from attncli.data.compression import decompressed
from attncli.data.streams import matching, open_input
from attncli.data.text.text_files import open_text
from attncli.terminal.plurals import counted
from models.base.errors import ModelError

LICENCE = re.compile(r"CC-BY .*Attribution: tatoeba\.org")  # third column of the tables of Anki
BARS = "|||"  # as fast_align, Moses and others write pairs


class CorpusPair(NamedTuple):
    """A source line and its reference translations."""

    source: str
    references: tuple[str, ...]  # at least one; pairs of a table may have different numbers


def read_pairs(paths: Sequence[Path | str]) -> Iterator[CorpusPair]:
    """Yield the pairs of a corpus, in order.

    paths: one file for the source and one for each reference, or a single table. Raises ModelError
    for files that cannot be read, are empty, or have different numbers of lines.
    """
    columns = _table(Path(paths[0])) if len(paths) == 1 else aligned([Path(path) for path in paths])
    for source, *references in columns:
        yield CorpusPair(source, tuple(references))


def source_target_pairs(paths: Sequence[Path | str]) -> Iterator[tuple[str, str]]:
    """Yield each source of a corpus with its first reference; see `read_pairs`."""
    path = Path(paths[0])
    if len(paths) > 1:
        yield from ((source, target) for source, target, *_ in aligned([Path(p) for p in paths]))
        return
    with open_text(path) as lines:
        head = list(itertools.islice(lines, 1))
        lines = itertools.chain(head, lines)
        if not head or separator_of(head[0]) == BARS:
            yield from ((source, target) for source, target, *_ in table_rows(path, lines))
            return
        for number, line in enumerate(lines, 1):  # the usual case, in less time than `table_rows`
            source, tab, others = line.partition("\t")
            if not tab:
                raise _without(tab, path, number)
            yield source, others.partition("\t")[0]


def reference_columns(pairs: Sequence[CorpusPair]) -> list[list[str]]:
    """Return a list of all first references, of all second ones and so on; None: one is missing.

    sacreBLEU leaves out None. The type has no None because every pair has a first reference, and
    the others are only scored.
    """
    columns = itertools.zip_longest(*(pair.references for pair in pairs), fillvalue=None)
    return cast("list[list[str]]", [list(column) for column in columns])


def fingerprint(paths: Sequence[Path | str]) -> str:
    """Return a hash of a corpus that depends on its content, not on paths or compression."""
    digest = hashlib.sha256()
    for column, path in zip(_columns(len(paths)), paths, strict=True):
        digest.update(f"{column} {_content_hash(Path(path))}\n".encode())
    return digest.hexdigest()


def aligned(paths: Sequence[Path], *, as_written: bool = False) -> Iterator[tuple[str, ...]]:
    """Yield the lines of several files in parallel; ModelError if their numbers differ.

    as_written: see `open_text`.
    """
    with _opened(list(paths), as_written) as columns:
        for number in itertools.count(1):
            row = [next(column, None) for column in columns]
            texts = tuple(text for text in row if text is not None)
            if len(texts) < len(row):
                counts = [number - (text is None) for text in row]
                rest = [sum(1 for _ in column) for column in columns]
                _check_counts(paths, [c + more for c, more in zip(counts, rest, strict=True)])
                return
            yield texts


def separator_of(line: str) -> str:
    """Return the column separator of a line: a tab or, in a line without tabs, `|||`."""
    return BARS if BARS in line and "\t" not in line else "\t"


def cells(line: str, separator: str) -> list[str]:
    """Return the columns of a line, without the spaces around `|||`."""
    row = line.split(separator)
    return [cell.strip(" ") for cell in row] if separator == BARS else row


def _check_counts(paths: Sequence[Path], counts: list[int]) -> None:
    _refuse_empty(paths, counts)
    if len(set(counts)) > 1:
        said = [
            f"{path} has {counted(count, 'line')}"
            for path, count in zip(paths, counts, strict=True)
        ]
        raise ModelError(" and ".join(said), "as many in each", "line n of one goes with line n")


def _refuse_empty(paths: Sequence[Path], counts: list[int]) -> None:
    for path, count in zip(paths, counts, strict=True):
        if not count:
            raise ModelError(f"{path} is empty", "a sentence on each line")


def _table(path: Path) -> Iterator[list[str]]:
    with open_text(path) as lines:
        yield from table_rows(path, lines)


def table_rows(path: Path, lines: Iterator[str]) -> Iterator[list[str]]:
    """Yield the columns of each line of a table: a source and one or more references.

    path: the file, for messages. Raises ModelError for a line of one column, and without lines.
    """
    number, separator = 0, ""
    for number, line in enumerate(lines, 1):
        separator = separator or separator_of(line)
        row = cells(line, separator)
        if len(row) < 2:
            raise _without(separator, path, number)
        source, target, *others = row
        yield [source, target, *(text for text in others if not LICENCE.match(text))]
    _refuse_empty([path], [number])


def _without(separator: str, path: Path, number: int) -> ModelError:
    return ModelError(
        f"{path}, line {number} has no {'tab' if separator != BARS else BARS}",
        "source, tab, translation",
        "give two files if this is the source alone",
    )


@contextmanager
def _opened(paths: list[Path], as_written: bool) -> Iterator[list[Iterator[str]]]:
    if not paths:
        yield []
        return
    if [str(path) for path in paths].count("-") > 1:
        raise ModelError("standard input is given twice", "a file for each other column")
    with (
        open_text(paths[0], as_written=as_written) as first,
        _opened(paths[1:], as_written) as others,
    ):
        yield [first, *others]


def _columns(count: int) -> list[str]:
    return ["table"] if count == 1 else ["source", *(f"reference {n}" for n in range(1, count))]


def _content_hash(path: Path) -> str:
    digest, files = hashlib.sha256(), matching(path)
    if len(files) > 1:
        return hashlib.sha256(" ".join(map(_content_hash, files)).encode()).hexdigest()
    with open_input(files[0]) as stream:
        for block in decompressed(stream, files[0]):
            digest.update(block)
    return digest.hexdigest()
