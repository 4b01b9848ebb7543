"""Tables in plain text, with aligned columns; cells and notes that several tables have."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Sequence

from attncli.terminal.text import padded, width


def columns(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Return a table as lines of text; all but the first ``left`` columns are right-aligned."""
    widths = [max(map(width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            padded(cell, room, right=number >= left)
            for number, (cell, room) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def wrapped(table: str, width: int) -> str:
    """Return a table for a terminal of this width: long lines continue below the second column."""
    lines = []
    for line in table.splitlines():
        found = re.match(r" *(?:\S+ +)?", line)
        indent = " " * min(found.end() if found else 0, width // 2)
        parts = textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False)
        lines += parts or [""]
    return "".join(f"{line}\n" for line in lines)


def size(count: int) -> str:
    """Return a number of bytes in kB or MB (powers of 1000)."""
    if count < 1_000_000:
        return f"{count / 1000:.0f} kB"
    return f"{count / 1_000_000:.1f} MB"


def speed_cells(count: int, seconds: float | None) -> list[str]:
    """Return seconds and outputs per second as two cells; empty cells if the time is unknown."""
    return [f"{seconds:.1f}", f"{count / seconds:.1f}"] if seconds else ["", ""]


def read_modes(systems: Iterable[tuple[str, str]]) -> str:
    """Return a line for each system with hard attention: how it was read.

    systems: names and read modes: "soft", "hard argmax", ...; empty if unknown.
    """
    return "".join(
        f"{name}: hard attention, read by {read.partition(' ')[2]}\n"
        for name, read in systems
        if read.startswith("hard")
    )
