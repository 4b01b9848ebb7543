"""A line with its labels."""

from __future__ import annotations

from typing import NamedTuple

from attncli.data.lines import Line
from models.types import Classification


class ClassifiedLine(NamedTuple):
    """A line with its labels."""

    line: Line
    result: Classification | None  # None: the line could not be classified, `note` says why
    note: str = ""  # what the user should know about the line
