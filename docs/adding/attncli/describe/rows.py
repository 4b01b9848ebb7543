"""Rows of numbers with their texts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from attncli.data.lines import open_text
from models.core.errors import InputError

SLOTS = 3  # numbers of a row


class NumberRow(NamedTuple):
    """A row of numbers and its text."""

    numbers: list[float]
    text: str


def numbers_in(text: str, place: str) -> list[float]:
    """Return the numbers of a row; raise InputError unless it has three. place: for the message."""
    try:
        found = [float(word) for word in text.split()]
    except ValueError:
        found = []
    if len(found) != SLOTS:
        raise InputError(f"{place}: {text!r}", f"{SLOTS} numbers with spaces between them")
    return found


def read_rows(path: Path | str) -> list[NumberRow]:
    """Return the rows of a file with lines `a b c TAB text`."""
    rows = []
    with open_text(Path(path)) as lines:
        for number, line in enumerate(lines, 1):
            numbers, _, text = line.rstrip("\n").partition("\t")
            rows.append(NumberRow(numbers_in(numbers, f"{path}, line {number}"), text))
    return rows
