"""Rows of lines: the part that the writers of translations and of labels have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from attncli.data.lines import Line


class LineResult(Protocol):
    """Result of a line."""

    @property
    def line(self) -> Line:
        """The line it was computed from."""
        ...


class RowLayout(Protocol):
    """Layout of the output."""

    @property
    def format(self) -> str:
        """Name of the writer."""
        ...


R = TypeVar("R", bound=LineResult)
L = TypeVar("L", bound=RowLayout)
Writers = Mapping[str, Callable[[R, L], Iterable[str]]]  # by format


def encoded_rows(results: Sequence[R], layout: L, writers: Writers[R, L]) -> bytes:
    """Return the rows of some lines as UTF-8, each with the line ending of its source."""
    write = writers[layout.format]
    rows = [row + result.line.ending for result in results for row in write(result, layout)]
    return "".join(rows).encode("utf-8", "replace")
