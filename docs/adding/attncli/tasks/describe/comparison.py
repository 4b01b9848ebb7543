"""Comparison of models that describe rows of numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attncli.tasks.describe.rows import read_rows

from attncli.jobs.compared import (
    ComparedSource,
    ModelScores,
    Sets,
    TestFiles,
    Trained,
    mark_of,
)
from attncli.scoring.score import MetricScore
from models.base.errors import ModelError

if TYPE_CHECKING:
    from attncli.tasks.describe.training import DevNumbers, NumberData


class ComparedNumbers(ComparedSource):
    """Texts about rows of numbers: compared by accuracy, the percentage of exact texts."""

    outputs = "descriptions"
    presets = "presets for rows of numbers"
    preset = demo_preset = "numbers-nano"
    variants = ("additive", "dot")

    def prepare(
        self, data: NumberData, seed: int, files: TestFiles, folder: Path
    ) -> tuple[NumberData, Sets]:
        """Return the named files; raise ModelError without them."""
        from attncli.tasks.describe.training import DevNumbers  # imports torch

        if not (data.train and data.dev):
            raise ModelError("no rows of numbers", "--train FILE --dev FILE")
        paths = [*map(Path, data.dev), *files.test]
        dev, *test = (DevNumbers(read_rows(path)) for path in paths)
        mark = mark_of([data.dev, files.test])
        return data, Sets(dev, test[0] if test else None, mark)

    def scores(self, trained: Trained, sets: Sets) -> ModelScores:
        """Return the percentage of exact texts, and the dev loss."""
        from attncli.training.updates.metrics import dev_loss  # imports torch

        def accuracy(part: DevNumbers) -> tuple[MetricScore, ...]:
            return (MetricScore("accuracy", part.exact(part.described_by(trained.model))),)

        model, tokenizer = trained.model.model, trained.model.tokenizer
        return ModelScores(
            loss=dev_loss(model, tokenizer, sets.dev, trained.report),
            dev=accuracy(sets.dev),
            test=accuracy(sets.test) if sets.test else (),
        )
