"""Writers of alignment scores: a table for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence

from attncli.render.columns import columns
from attncli.render.json import as_json
from attncli.scoring.alignments import AlignmentScores, GoldSummary
from attncli.terminal.plurals import counted


def alignment_scores_as_text(rows: Sequence[AlignmentScores], gold: GoldSummary) -> str:
    """Return the size of the gold, a row of percentages for each alignment, and how it was read."""
    table = [["", "AER", "precision", "recall", "F", "links"]]
    for row in rows:
        shares = (row.error_rate, row.precision, row.recall, row.f)
        table.append([row.name, *(f"{100 * share:.2f}" for share in shares), f"{row.links:,}"])
    read = [("gold", gold.note), *((row.name, row.note) for row in rows)]
    counts = f"{gold.sure:,} sure and {counted(gold.possible, 'possible link')}"
    head = f"{counted(gold.pairs, 'sentence pair')}, {counts} in {gold.name}\n"
    return f"{head}\n{columns(table)}\n{columns(read, left=2)}"


def alignment_scores_as_json(rows: Sequence[AlignmentScores], gold: GoldSummary) -> str:
    """Return an object with one entry for each alignment; scores from 0 to 1."""
    record = {"gold": gold._asdict(), "alignments": [row._asdict() for row in rows]}
    return as_json(record)
