"""First rows that name columns, and columns of numbers, in tables and parallel files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import TypeVar

from attncli.terminal import console
from models.base.errors import InputError

Row = TypeVar("Row", bound=Sequence[str])

HEAD = 50  # rows by which a column of numbers is recognised
LEAST = 3
NUMBER = re.compile(r"[\s\d.,:;%/+-]*\d[\s\d.,:;%/+-]*")
NAME = re.compile(  # of a column, in lower case
    "labels?|class|category|intent|topic|sentiment|tag|annotation|texts?|sentences?|utterance|"
    "content|document|query|source|src|source_text|input|target|tgt|target_text|output|translation|"
    "reference|id|nr|no|number|index|score|line|ar|bg|ca|cs|da|de|el|en|es|et|fa|fi|fr|hr|hu|ja|ko|"
    "lt|lv|nb|nl|nn|pl|pt|ro|ru|sk|sl|sv|tr|uk|vi|zh|eng|deu|ger|fra|fre|spa|ita|nld|por|rus|"
    "english|german|french|spanish|italian|dutch|portuguese|russian|chinese|japanese|deutsch|"
    "englisch|français|español|italiano|nederlands"
)


def is_header(row: Sequence[str]) -> bool:
    """Return True if a first row has two or more cells, different names of columns."""
    cells = [re.sub(r"[\s_-]*\d*$", "", cell.strip().strip("#\"'").lower()) for cell in row]
    names = [re.sub(r"^(text|source|target|sentence|src|tgt)[\s_-]", "", cell) for cell in cells]
    return len(names) > 1 and len({*names}) > 1 and all(map(NAME.fullmatch, names))


def without_header(rows: Iterator[Row], name: str, *, column: int = 0) -> Iterator[Row]:
    """Yield the rows of a table or of parallel files, without a first row that names the columns.

    name: of the files, for messages. column: that of the texts to read, which is reported if it has
    numbers alone. Raises InputError if it is one of three or more columns.
    """
    head = list(islice(rows, HEAD))
    if len(head) > 1 and is_header(head[0]):
        _say(f"{name}: line 1 ({', '.join(head[0])}) names the columns, and is left out")
        del head[0]
    _check_numbers(head, name, column)
    yield from chain(head, rows)


def _check_numbers(rows: Sequence[Sequence[str]], name: str, column: int) -> None:
    """Report texts that are numbers alone, beside texts that are not."""
    filled = [row for row in rows if len(row) > column and row[column].strip()]
    if len(filled) < LEAST or not all(NUMBER.fullmatch(row[column]) for row in filled):
        return
    others = [cell for row in filled for n, cell in enumerate(row) if n != column]
    if all(NUMBER.fullmatch(cell) for cell in others if cell.strip()):
        return
    found = f"column {column + 1} of {name} has numbers alone"
    if min(map(len, filled)) > 2:
        raise InputError(found, "text in it", "remove the column, as with `cut -f2-`")
    _warn(f"{found}: it is read as text; remove the column if it counts or scores the rows")


@cache
def _say(message: str) -> None:
    """Say a message once, although files are read several times."""
    console.say(message)


@cache
def _warn(message: str) -> None:
    console.warn(message)
