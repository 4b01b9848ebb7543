"""Training on rows of numbers and texts: lines `a b c TAB text`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from attncli.describe.rows import NumberRow, read_rows
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, TrainingSource
from models.core.settings import option


@dataclass(frozen=True)
class NumberData(DataConfig):
    """Files of rows of numbers."""

    train: tuple[str, ...] = option((), "rows of numbers, tab, text")
    dev: tuple[str, ...] = option((), "the same, for evaluation during training")

    def rows(self, files: Sequence[Path | str], part: str = "train") -> list[NumberRow]:
        """Return the rows of some files."""
        return [row for path in files for row in read_rows(path)]


class NumberTraining(TrainingSource):
    """Training on rows of numbers."""

    data: NumberData
    module = "attncli.describe.examples"
    unit = "rows"
    demo_name = "numbers"
    default_preset = "numbers-nano"
    table, by_preset = NumberData, True  # `attn train FILE` alone reads texts
    metrics = ("exact",)
    comparison = Comparison(
        outputs="descriptions",
        preset="numbers-nano",
        variants=("additive", "dot"),
        metrics={"exact": "accuracy"},
    )
    example_input = "echo '0.1 -0.9 1.2' | attn describe"
