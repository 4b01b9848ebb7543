"""Tables with named columns: rows of several inputs, with or without their target.

The first line names the columns. A row becomes a text: its inputs in the order in which the model
reads them, separated by tabs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from attncli.data.text.text_files import open_text
from models.base.errors import ModelError
from models.sources.rows import TAB


def row_pairs(
    paths: Sequence[Path | str], inputs: Sequence[str], target: str
) -> Iterator[tuple[str, str]]:
    """Yield the row of inputs and the target of each line of a table.

    Raises ModelError for several files, a missing column, and a line with another number of
    columns than the header.
    """
    if len(paths) != 1:
        raise ModelError(
            f"{len(paths) or 'no'} files of rows of several inputs",
            "one table whose first line names its columns",
            f"it has the columns {', '.join((*inputs, target))}",
        )
    path = Path(paths[0])
    with open_text(path, as_written=True) as lines:
        header = next(lines, "").split(TAB)
        places = column_places(header, (*inputs, target), path.name)
        count = 0
        for count, line in enumerate(lines, 1):
            cells = line.split(TAB)
            if len(cells) != len(header):
                raise ModelError(
                    f"{path}, line {count + 1} has {len(cells)} columns",
                    f"{len(header)}, as the header",
                )
            *row, translation = (cells[place] for place in places)
            yield TAB.join(row), translation
        if not count:
            raise ModelError(f"{path} has no rows", "a row on each line after the header")


def column_places(header: Sequence[str], wanted: Sequence[str], name: str) -> list[int]:
    """Return the place of each wanted column; raise ModelError if the header lacks one."""
    for column in wanted:
        if column not in header:
            raise ModelError(
                f"{name} has no column {column!r} in its first line ({', '.join(header)[:80]})",
                f"columns {', '.join(wanted)}",
                "name them with -s model.inputs=A,B and -s data.target=C",
            )
    return [header.index(column) for column in wanted]
