"""``attn evaluate descriptions``: scores of texts about rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from attncli.describe.rows import read_rows
from attncli.faithful.result import text_line
from attncli.options.evaluation import Evaluation, command
from attncli.options.line_task import LineOptions
from attncli.scoring.sequences import exact_match


@command
@dataclass(kw_only=True)
class DescriptionEvaluation(Evaluation):
    """Score texts about rows against references.

    Prints the percentage of the texts that are equal to the reference.

    Example:
      attn evaluate descriptions test.tsv -m runs/numbers
    """

    task, unit, options_of = "describe", "row", LineOptions
    metrics = {"exact": exact_match}

    file: Annotated[Path, typer.Argument(metavar="FILE", help="Rows of numbers, tab, text.")]

    def read(self, folders: Sequence[Path]) -> None:
        """Read the rows with their texts."""
        rows = read_rows(self.file)
        self.references = [[row.text] for row in rows]
        self.counts = {"rows": len(rows)}
        lines = (" ".join(map(str, row.numbers)) for row in rows)
        self.items = [text_line(number, line) for number, line in enumerate(lines, 1)]
