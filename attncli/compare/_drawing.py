"""Writers of a comparison: tables for people and papers, CSV and JSON for programs, and plots."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tabulate import tabulate

from attncli.compare._scores import (
    PARTS,
    QUALITY,
    RunScores,
    low_scores,
    ranked,
    spread,
    verdict,
)
from attncli.data.streams import as_json
from attncli.render.plots import Strip, strips
from attncli.render.rows import columns
from attncli.terminal.messages import cell

UNEQUAL = 1.1  # factor between numbers of updates from which on they are called different


class Column(NamedTuple):
    """One number of a row: its name, its value and its number format."""

    name: str
    value: Callable[[RunScores], float | None]
    form: str


def _quality_column(part: str, metric: str) -> Column:
    name, digits = QUALITY[metric]
    return Column(f"{part} {name}", lambda row: row.quality(part, metric), f".{digits}f")


COLUMNS = (
    *(_quality_column(part, metric) for metric in QUALITY for part in PARTS),
    Column("perplexity", lambda row: row.perplexity, ".2f"),
    Column("AER %", lambda row: row.aer, ".1f"),
    Column("parameters", lambda row: row.parameters, ",.0f"),
    Column("updates", lambda row: row.updates, ",.0f"),
    Column("tokens/s", lambda row: row.tokens_per_second, ",.0f"),
    Column("seconds", lambda row: row.seconds, ",.1f"),
)


def draw_comparison(path: Path, rows: Sequence[RunScores]) -> None:
    """Plot score, AER and speed of every run if they are known; the best variant is on top."""
    groups = ranked(rows)
    part = "test" if all(row.test for row in rows) else "dev"
    score = _quality_column(part, rows[0].metric).name
    better = {
        score: "higher" if rows[0].sign > 0 else "lower",
        "AER %": "lower",
        "tokens/s": "higher",
    }
    panels = [
        Strip(
            f"{column.name}\n({better[column.name]} is better)",
            [_values(column, group) for group in groups.values()],
        )
        for column in _shown(rows)
        if column.name in better
    ]
    title = f"Scores of the {part} set. A dot is a seed, a bar the mean of the seeds."
    strips(path, list(groups), panels, f"{title}\n{low_scores(rows)}")


def _text(rows: Sequence[RunScores]) -> str:
    """Return mean ± standard deviation over seeds, best variant first, and the noise."""
    return f"{columns(_table(rows))}\n{_said(rows)}" if rows else ""


def _table(rows: Sequence[RunScores]) -> list[list[str]]:
    """Return the names of the columns, and a row for each variant, best first."""
    shown = _shown(rows)
    table = [["variant", "seeds", *(column.name for column in shown)]]
    for name, group in ranked(rows).items():
        table.append([name, str(len(group)), *(_cell(column, group) for column in shown)])
    return table


def _said(rows: Sequence[RunScores]) -> str:
    """Return what follows the table: the noise, and notes on the numbers."""
    return f"{verdict(rows)}\n{_notes(rows)}"


def _csv(rows: Sequence[RunScores]) -> str:
    """Return a line for each run."""
    text = io.StringIO()
    records = [{name: cell(value) for name, value in row.as_record().items()} for row in rows]
    writer = csv.DictWriter(text, {n: n for record in records for n in record}, lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _json(rows: Sequence[RunScores]) -> str:
    """Return the runs, their means and deviations by variant, and the verdict."""
    record = {
        "variants": [_summary(name, group) for name, group in ranked(rows).items()],
        "verdict": verdict(rows).splitlines() if rows else [],
        "runs": [row.as_record() for row in rows],
    }
    return as_json(record)


def _shown(rows: Sequence[RunScores]) -> list[Column]:
    """Return the columns for which at least one row has a number."""
    return [column for column in COLUMNS if any(column.value(row) is not None for row in rows)]


def _values(column: Column, rows: Sequence[RunScores]) -> list[float]:
    return [value for row in rows if (value := column.value(row)) is not None]


def _cell(column: Column, rows: Sequence[RunScores]) -> str:
    values = _values(column, rows)
    if not values:
        return ""
    mean, deviation = spread(values)
    sure = not deviation  # one seed, or a number that no seed changes
    return f"{mean:{column.form}}" + ("" if sure else f" ± {deviation:{column.form}}")


def _summary(name: str, rows: Sequence[RunScores]) -> dict[str, object]:
    record: dict[str, object] = {"variant": name, "seeds": [row.seed for row in rows]}
    for column in _shown(rows):
        values = _values(column, rows)
        record[column.name] = spread(values)._asdict() if values else None
    return record


def _notes(rows: Sequence[RunScores]) -> str:
    """Return notes on the numbers: read modes, and unequal numbers of updates."""
    hard = dict.fromkeys((row.variant, row.read) for row in rows if row.read.startswith("hard"))
    notes = [f"{name}: hard attention, read by {read.partition(' ')[2]}." for name, read in hard]
    least, most = (extreme(rows, key=lambda row: row.updates) for extreme in (min, max))
    if most.updates > UNEQUAL * least.updates:
        notes.append(
            f"The runs had different numbers of updates, from {least.updates:,} ({least.variant}) "
            f"to {most.updates:,} ({most.variant}): time or early stopping ended them."
        )
    return "".join(f"{note}\n" for note in notes)


def _tabulated(rows: Sequence[RunScores], kind: str) -> str:
    head, *table = _table(rows)
    sides = ("left", *["right"] * (len(head) - 1))
    return tabulate(table, head, kind, disable_numparse=True, colalign=sides) + "\n"


def _markdown(rows: Sequence[RunScores]) -> str:
    if not rows:
        return ""
    rows = [row._replace(variant=row.variant.replace("|", "\\|")) for row in rows]
    return f"{_tabulated(rows, 'pipe')}\n{_said(rows)}"


def _latex(rows: Sequence[RunScores]) -> str:
    """Return a table with the rules of the package booktabs; notes are comments."""
    if not rows:
        return ""
    notes = "".join(f"% {line}".rstrip() + "\n" for line in _said(rows).splitlines())
    return f"% needs \\usepackage{{booktabs}}\n{_tabulated(rows, 'latex_booktabs')}{notes}"


WRITERS: dict[str, Callable[[Sequence[RunScores]], str]] = {  # by format, which is also the suffix
    "txt": _text,
    "csv": _csv,
    "json": _json,
    "md": _markdown,
    "tex": _latex,
}
