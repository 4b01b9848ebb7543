"""Lines as rows of several inputs: tables with or without a header, and JSON objects."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from attncli.data.lines import Line
from attncli.data.text.rows import column_places
from models.base.errors import ModelError
from models.base.parsing import parse_json
from models.sources.rows import TAB


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
