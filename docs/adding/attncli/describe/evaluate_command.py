"""``attn evaluate descriptions``: scores of texts about rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer

from attncli.describe.rows import read_rows
from attncli.describe.runner import DescribeOptions
from attncli.faithful.result import text_line
from attncli.options.evaluation import Evaluation, command
from attncli.scoring.score import MetricScore, System
from attncli.scoring.sequences import exact_match


@command
@dataclass(kw_only=True)
class DescriptionEvaluation(Evaluation):
    """Score texts about rows against references.

    Prints the percentage of the texts that are equal to the reference.

    Example:
      attn evaluate descriptions test.tsv -m runs/numbers
    """

    task, unit, options_of = "describe", "row", DescribeOptions

    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows of numbers, tab, text.")]
    references: list[list[str]] = field(init=False)  # of each row

    def read(self, folders: Sequence[Path]) -> None:
        """Read the rows with their texts."""
        rows = read_rows(self.file)
        self.references = [[row.text] for row in rows]
        self.counts, self.head = {"rows": len(rows)}, f"{len(rows):,} rows"
        lines = (" ".join(map(str, row.numbers)) for row in rows)
        self.items = [text_line(number, line) for number, line in enumerate(lines, 1)]

    def scored(self, systems: list[System]) -> list[System]:
        """Return the systems with the share of exact texts."""
        return [
            one._replace(
                scores=(MetricScore("exact", exact_match(one.hypotheses, self.references)),)
            )
            for one in systems
        ]
