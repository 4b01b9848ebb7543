"""Rows of numbers with their texts, and the runner that describes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.lines import open_text
from attncli.faithful.result import Line
from attncli.jobs.loading import open_device, readable
from attncli.options.settings import Options
from models.core.errors import InputError
from models.storage.installed import find_model

if TYPE_CHECKING:
    from models.engines.describer import Describer

SLOTS = 3  # numbers of a row


class NumberRow(NamedTuple):
    """A row of numbers and its text."""

    numbers: list[float]
    text: str


def row_of(line: Line) -> NumberRow:
    """Return the row of a line, whose text is still to be written; empty for an empty line."""
    return NumberRow(numbers_in(line.text, f"line {line.number}") if line.text.strip() else [], "")


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


class DescribeRunner:
    """A model that describes rows of numbers. `run` is the only way to texts."""

    def __init__(self, describer: Describer) -> None:
        self.describer = describer

    @classmethod
    def open(cls, model: Path, options: Options) -> DescribeRunner:
        """Open a model; raise ModelError for a model of another kind of input."""
        from models.engines.describer import Describer  # imports torch

        return cls(Describer.read(readable(find_model(model)), device=open_device(options)))

    def run(self, chunks: Iterable[list[NumberRow]]) -> Iterator[list[str]]:
        """Yield the texts of each chunk of rows; the text of an empty row is empty."""
        for rows in chunks:
            given = [row.numbers for row in rows if row.numbers]
            texts = iter(self.describer.describe(given) if given else [])
            yield [next(texts) if row.numbers else "" for row in rows]
