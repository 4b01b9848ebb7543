"""Tables: chosen columns of CSV and TSV files.

Cells are separated by a comma, semicolon, tab or bar, whichever the first line has most of. A cell
in double quotes may hold separators, line ends and doubled quotes (RFC 4180).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

from attncli.documents.document import Document, DocumentOptions, string_segment
from models.base.errors import ConfigurationError, unknown_name

DELIMITERS = ",;\t|"


class Cell(NamedTuple):
    """A cell with its span and its value."""

    start: int
    end: int
    text: str
    quoted: bool


def read(content: str, options: DocumentOptions) -> Document:
    """Return the cells of the chosen columns. The first row is left as it is if it names them."""
    delimiter = options.delimiter or delimiter_of(content)
    rows = rows_of(content, delimiter)
    first = next(rows, [])
    columns, named = _columns(options.columns, [cell.text for cell in first])
    segments = []
    for row in rows if named else chain([first], rows):
        for number in columns:
            if number < len(row):
                start, end, text, quoted = row[number]
                quote = partial(_quoted, delimiter=delimiter, always=quoted)
                segments.append(string_segment(start, end, text, quote))
    return Document(content, tuple(filter(None, segments)))


def delimiter_of(content: str) -> str:
    """Return the delimiter that occurs most often in the first line, outside quotes."""
    line = re.sub(r'"[^"]*"', "", content.lstrip("\ufeff").split("\n", 1)[0])
    return max(DELIMITERS, key=line.count)


def rows_of(content: str, delimiter: str) -> Iterator[list[Cell]]:
    """Yield the rows of a table as cells with their spans."""
    sign = re.escape(delimiter)
    pattern = re.compile(
        rf'(?:"(?P<quoted>(?:[^"]|"")*)"(?={sign}|\r|\n|\Z)|(?P<plain>[^{sign}\r\n]*))'
        rf"(?P<then>{sign}|\r\n|\n|\r|\Z)"
    )
    at, row = int(content.startswith("\ufeff")), list[Cell]()
    while at < len(content) or row:
        found = pattern.match(content, at)
        assert found  # "plain" matches anything
        quoted = found["quoted"] is not None
        text = found["quoted"].replace('""', '"') if quoted else found["plain"]
        row.append(Cell(at, found.start("then"), text, quoted))
        at = found.end()
        if found["then"] != delimiter:
            yield row
            row = []


def _columns(wanted: Sequence[str], names: list[str]) -> tuple[list[int], bool]:
    """Return the indices of the wanted columns in order, and True if they were given by name."""
    if not wanted:
        raise ConfigurationError(
            "a table without a chosen column",
            f"--column and one of {', '.join(names) or 'its columns'}",
            "give a number, from 1, if the first row holds no names",
        )
    named = not all(name.isdecimal() and name not in names for name in wanted)
    known = names if named else [str(number + 1) for number in range(max(1, len(names)))]
    for name in wanted:
        if name not in known:
            raise unknown_name("column", name, known)
    return sorted({known.index(name) for name in wanted}), named


def _quoted(text: str, *, delimiter: str, always: bool) -> str:
    """Return a cell, in quotes where it was quoted or needs to be."""
    if always or re.search(rf'[{re.escape(delimiter)}\r\n]|^"', text):
        return '"' + text.replace('"', '""') + '"'
    return text
