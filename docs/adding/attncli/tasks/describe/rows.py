"""Rows of numbers with their texts, and the models that describe them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from attncli.data.lines import Line, open_text
from attncli.jobs.loading import open_device, readable
from attncli.options.settings import Options
from models.base.errors import InputError
from models.catalogue.installed import find_model

if TYPE_CHECKING:
    from models.inference.describer import Describer

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


def open_describer(model: Path, options: Options) -> Describer:
    """Open a model of rows of numbers; raise ModelError for another model."""
    from models.inference.describer import Describer  # imports torch

    return Describer.read(readable(find_model(model)), device=open_device(options))


def describe_lines(lines: Sequence[Line], describer: Describer) -> list[str]:
    """Return a text for each line, with its ending; an empty line gives an empty text."""
    rows = [numbers_in(line.text, f"line {line.number}") for line in lines if line.text.strip()]
    texts = iter(describer.describe(rows) if rows else [])
    return [(next(texts) if line.text.strip() else "") + line.ending for line in lines]
