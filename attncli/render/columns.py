"""Text in columns, for a person to read."""

from __future__ import annotations

from collections.abc import Sequence
from unicodedata import combining, east_asian_width


def columns(rows: Sequence[Sequence[str]], *, left: int = 1, gap: str = "  ") -> str:
    """Rows under each other, as lines; all but the first ``left`` columns are flush right."""
    widths = [max(map(_width, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            _padded(cell, width, number < left)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(gap.join(cells).rstrip())
    return "".join(f"{line}\n" for line in lines)


def _padded(cell: str, width: int, flush: bool) -> str:
    spaces = " " * (width - _width(cell))
    return cell + spaces if flush else spaces + cell


def _width(text: str) -> int:
    """Columns of a terminal."""
    return sum(
        0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1 for letter in text
    )
