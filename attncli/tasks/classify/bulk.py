"""Classification of the records of a bulk job, as `attn classify` classifies lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attncli.bulk.plan.job import BulkJob
from attncli.bulk.tasks import RecordResult, settings_of
from attncli.bulk.tasks.lines import LineTask
from attncli.data.lines import ClassifiedLine, Line
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.settings import read_settings
from attncli.render.rows import RowLayout
from attncli.tasks.classify.lines import classify_lines
from attncli.tasks.classify.settings import ClassifyTables
from attncli.tasks.classify.writers import rendered


@dataclass(frozen=True)
class ClassifySettings:
    """Parameters of `attn classify` that a bulk classification uses."""

    format: str
    nbest: int
    scores: bool
    set: Sequence[str] | None


class ClassifyTask(LineTask[ClassifiedLine]):
    """Classifiers of the lines of shards."""

    doing, shipped = "classifying", "classify"
    into = "label"
    settings_class = ClassifySettings
    unused_tables = ("picture",)

    def __init__(self, job: BulkJob) -> None:
        settings = settings_of(ClassifySettings, job.settings)
        tables = read_settings(ClassifyTables, settings.set).tables
        options = OpenOptions(job.device, job.threads, tables.attention.read_decode)
        self.layout = RowLayout(settings.format, settings.nbest > 1, settings.scores)
        self._classify = partial(
            classify_lines,
            classifier=loading.open_classifier([Path(model) for model in job.models], options),
            nbest=settings.nbest,
            attention=settings.format == "jsonl",
            max_batch_tokens=tables.compute.batch_tokens,
        )

    @staticmethod
    def check(settings: ClassifySettings) -> None:
        """Refuse unknown settings."""
        read_settings(ClassifyTables, settings.set)

    def outcomes(self, lines: list[Line]) -> Sequence[ClassifiedLine]:
        """Return the labels of each line."""
        [outcomes] = self._classify([lines])
        return outcomes

    def failure(self, line: Line, error: str) -> ClassifiedLine:
        """Return a line without labels."""
        return ClassifiedLine(line, None, error)

    def result(self, outcome: ClassifiedLine) -> RecordResult:
        """Return the rows, label and warning of a line."""
        row = rendered([outcome], self.layout)
        if outcome.result is None:
            return RecordResult(row, None, outcome.note)
        labels = outcome.result.labels
        warnings = tuple(filter(None, [outcome.note]))
        return RecordResult(row, labels[0].label if labels else "", warnings=warnings)
