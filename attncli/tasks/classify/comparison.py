"""Comparison of classifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.data.text.tables import read_labelled
from attncli.jobs.compared import (
    ComparedSource,
    ModelScores,
    Sets,
    TestFiles,
    Trained,
    mark_of,
    write_tables,
)
from attncli.scoring.comparison import QualityScore
from attncli.scoring.labels import score_labels
from models.base.registry import TABLES

if TYPE_CHECKING:
    from attncli.tasks.classify.training.source import LabelData


class ComparedLabels(ComparedSource):
    """Labels: compared by accuracy."""

    outputs = "labels"
    presets = "presets of classifiers"
    preset, demo_preset = "bilstm-attention-small", "bilstm-attention-nano"
    variants = tuple(TABLES["pooling"])

    def prepare(
        self, data: LabelData, seed: int, files: TestFiles, folder: Path
    ) -> tuple[LabelData, Sets]:
        """Write labelled texts for training and evaluation to files that all runs share.

        Without a file they are sentences of the embedded grammar, a test set included.
        """
        from attncli.tasks.classify.training import data as label_data

        read = label_data.read_rows if data.labels else label_data.demo_rows
        parts = read(data, seed)._asdict()
        tables = {name: label_data.as_table(rows) for name, rows in parts.items()}
        train, dev, *test = write_tables(folder, tables)
        named = replace(data, labels=str(train), dev_labels=str(dev))
        return named, label_sets(named, files.test or test)

    def scores(self, trained: Trained, sets: Sets) -> ModelScores:
        """Return the accuracy and the dev loss."""
        from attncli.training.updates.evaluation import dev_loss

        def accuracy(part: Any) -> tuple[QualityScore, ...]:
            found = part.labelled(trained.model, trained.report)
            return (QualityScore("accuracy", score_labels(found, part.labels).accuracy),)

        model, tokenizer = trained.model.model, trained.model.tokenizer
        return ModelScores(
            loss=dev_loss(model, tokenizer, sets.dev, trained.report),
            dev=accuracy(sets.dev),
            test=accuracy(sets.test) if sets.test else (),
        )


def label_sets(data: LabelData, test: Sequence[Path]) -> Sets:
    """Return dev set and test set of labelled texts."""
    from attncli.tasks.classify.training.data import dev_labels

    paths = [Path(data.dev_labels), *test]
    dev, *others = (dev_labels(read_labelled(path)) for path in paths)
    return Sets(dev, others[0] if others else None, mark_of([path] for path in paths))
