"""Attention maps as CSV: word, row, column, weight."""

from typing import Any


def csv_table(captioned: Any) -> bytes:
    """Return one CSV row per word and cell."""
    rows = [
        f"{word},{row},{column},{weight:.4f}\n"
        for word, cells in zip(captioned.words, captioned.maps, strict=True)
        for row, line in enumerate(cells)
        for column, weight in enumerate(line)
    ]
    return ("word,row,column,weight\n" + "".join(rows)).encode()
