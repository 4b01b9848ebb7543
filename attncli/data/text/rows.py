"""Rows of several inputs: tables with their target, and lines with or without a header, or JSON.

The first line of a table names the columns. A row becomes a text: its inputs in the order in which
the model reads them, separated by tabs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from attncli.data.lines import Line
from attncli.data.text.tables import open_text
from models.base.errors import ModelError
from models.base.settings import parse_json
from models.sources import TAB


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


def as_rows(
    chunks: Iterable[list[Line]],
    inputs: Sequence[str],
    fault: Callable[[str], str] = lambda row: "",
) -> Iterator[list[Line]]:
    """Yield chunks of lines as rows: the inputs, separated by tabs, in the model's order.

    A first line that names all inputs is a header; it becomes an empty line. A line that starts
    with a brace is a JSON object of the inputs. A line that is no row has a fault. fault: returns
    why the image of a row cannot be read, or "".
    """
    places, width = list(range(len(inputs))), len(inputs)
    for chunk in chunks:
        rows = []
        for line in chunk:
            cells = line.text.split(TAB)
            if line.number == 1 and {*inputs} <= {*cells}:
                places, width = column_places(cells, inputs, "the input"), len(cells)
                line = line._replace(text="")
            row = _row(line, inputs, places, width)
            if row.text.strip() and not row.fault and (reason := fault(row.text)):
                row = row._replace(fault=f"a row without its image ({reason})")
            rows.append(row)
        yield rows


def _row(line: Line, inputs: Sequence[str], places: Sequence[int], width: int) -> Line:
    if line.fault or not line.text.strip():
        return line
    if line.text.lstrip().startswith("{"):
        return _json_row(line, inputs)
    cells = line.text.split(TAB)
    if len(cells) != width:
        found = f"a row of {len(cells)} columns in place of {width} ({', '.join(inputs)})"
        return line._replace(fault=found)
    return line._replace(text=TAB.join(cells[place] for place in places))


def _json_row(line: Line, inputs: Sequence[str]) -> Line:
    try:
        record = parse_json(line.text)
        cells = [str(record[name]).replace(TAB, " ").replace("\n", " ") for name in inputs]
    except (ValueError, ModelError):
        return line._replace(fault="not valid JSON")
    except (KeyError, TypeError) as error:
        return line._replace(fault=f"a JSON object without {error}")
    return line._replace(text=TAB.join(cells))
