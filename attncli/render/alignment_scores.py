"""Alignment scores as a table and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from attncli.render.columns import columns
from attncli.scoring.alignments import AlignmentScores


class Against(NamedTuple):
    """What the scores are measured against."""

    name: str
    note: str  # how it was read
    pairs: int
    sure: int
    possible: int  # that are not sure


def alignment_scores_as_text(rows: Sequence[AlignmentScores], gold: Against) -> str:
    """The gold and how it was read; a row for each alignment in percent; how each was made."""
    table = [["", "AER", "precision", "recall", "F", "links"]]
    for row in rows:
        shares = (row.error_rate, row.precision, row.recall, row.f)
        table.append([row.name, *(f"{100 * share:.2f}" for share in shares), f"{row.links:,}"])
    read = [("gold", gold.note), *((row.name, row.note) for row in rows)]
    counts = f"{gold.sure:,} sure and {gold.possible:,} possible links"
    head = f"{gold.pairs:,} sentence pairs, {counts} in {gold.name}\n"
    return f"{head}\n{columns(table)}\n{columns(read, left=2)}"


def alignment_scores_as_json(rows: Sequence[AlignmentScores], gold: Against) -> str:
    """An object with one entry for each alignment; shares from 0 to 1."""
    record = {"gold": gold._asdict(), "alignments": [row._asdict() for row in rows]}
    return json.dumps(record, ensure_ascii=False, indent=2) + "\n"
