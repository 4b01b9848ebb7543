"""A comparison as a table for a person, as CSV and JSON for programs, and as a picture."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from attncli.escapes import cell
from attncli.render.columns import columns
from attncli.render.plots import Strip, strips
from attncli.scoring.comparison import Row, ranked, spread, verdict


class Column(NamedTuple):
    """One number of a row: how it is named, taken and written."""

    name: str
    value: Callable[[Row], float | None]
    form: str


COLUMNS = (
    Column("dev BLEU", lambda row: row.dev_bleu, ".2f"),
    Column("test BLEU", lambda row: row.test_bleu, ".2f"),
    Column("perplexity", lambda row: row.perplexity, ".2f"),
    Column("AER %", lambda row: row.aer, ".1f"),
    Column("parameters", lambda row: row.parameters, ",.0f"),
    Column("updates", lambda row: row.updates, ",.0f"),
    Column("tokens/s", lambda row: row.tokens_per_second, ",.0f"),
    Column("seconds", lambda row: row.seconds, ",.1f"),
)


def comparison_as_text(rows: Sequence[Row]) -> str:
    """The best mechanism first, mean ± standard deviation over seeds; then what is noise."""
    if not rows:
        return ""
    shown = _shown(rows)
    table = [["mechanism", "seeds", *(column.name for column in shown)]]
    for name, group in ranked(rows).items():
        table.append([name, str(len(group)), *(_cell(column, group) for column in shown)])
    return f"{columns(table)}\n{verdict(rows)}\n{_notes(rows)}"


def comparison_as_csv(rows: Sequence[Row]) -> str:
    """A line for each run."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def comparison_as_json(rows: Sequence[Row]) -> str:
    """The runs, their means and deviations by mechanism, and the verdict."""
    record = {
        "mechanisms": [_summary(name, group) for name, group in ranked(rows).items()],
        "verdict": verdict(rows).splitlines() if rows else [],
        "runs": [row._asdict() for row in rows],
    }
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"


def draw_comparison(path: Path, rows: Sequence[Row]) -> None:
    """BLEU of every run, and AER where it is known, the best mechanism at the top."""
    groups = ranked(rows)
    bleu = "dev BLEU" if any(row.test_bleu is None for row in rows) else "test BLEU"
    wanted = [column for column in _shown(rows) if column.name in (bleu, "AER %", "tokens/s")]
    panels = [
        Strip(column.name, [_values(column, group) for group in groups.values()])
        for column in wanted
    ]
    strips(path, list(groups), panels)


def _shown(rows: Sequence[Row]) -> list[Column]:
    """The columns that any row has a number for."""
    return [column for column in COLUMNS if any(column.value(row) is not None for row in rows)]


def _values(column: Column, rows: Sequence[Row]) -> list[float]:
    return [value for row in rows if (value := column.value(row)) is not None]


def _cell(column: Column, rows: Sequence[Row]) -> str:
    values = _values(column, rows)
    if not values:
        return ""
    mean, deviation = spread(values)
    sure = not deviation  # one seed, or a number that does not depend on it
    return f"{mean:{column.form}}" + ("" if sure else f" ± {deviation:{column.form}}")


def _summary(name: str, rows: Sequence[Row]) -> dict[str, object]:
    record: dict[str, object] = {"mechanism": name, "seeds": [row.seed for row in rows]}
    for column in _shown(rows):
        values = _values(column, rows)
        record[column.name] = spread(values)._asdict() if values else None
    return record


def _notes(rows: Sequence[Row]) -> str:
    """What a reader of the table must know of its numbers."""
    alone = sorted({row.mechanism for row in rows if row.aligned_by == "diagonal"})
    hard = dict.fromkeys((row.mechanism, row.read) for row in rows if row.read.startswith("hard"))
    notes = [f"{name}: hard attention, read by {read.partition(' ')[2]}." for name, read in hard]
    if alone:
        notes.append(
            f"AER of {', '.join(alone)}: no attention to align by; the diagonal's, as the floor."
        )
    return "".join(f"{note}\n" for note in notes)
