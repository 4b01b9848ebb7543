"""Classification of the records of a bulk job, as `attn classify` classifies lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult
from attncli.bulk.tasks.lines import LineTask
from attncli.data.lines import ClassifiedLine, Line
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.tasks.classify.lines import classify_lines
from attncli.tasks.classify.writers import LabelLayout, rendered
from models.config.tables import MAX_BATCH_TOKENS


@dataclass(frozen=True)
class ClassifySettings:
    """Settings of a bulk classification; see the options of `attn classify`."""

    format: str = "text"
    nbest: int = 1
    scores: bool = False
    read_mode: str | None = None
    max_batch_tokens: int = MAX_BATCH_TOKENS


class ClassifyTask(LineTask[ClassifiedLine]):
    """Classifiers of the lines of shards."""

    into = "label"

    def __init__(self, job: BulkJob) -> None:
        settings = ClassifySettings(**job.settings)
        options = OpenOptions(job.device, job.threads, settings.read_mode)
        self.layout = LabelLayout(settings.format, settings.nbest > 1, settings.scores)
        self._classify = partial(
            classify_lines,
            classifier=loading.open_classifiers([Path(model) for model in job.models], options),
            nbest=settings.nbest,
            attention=settings.format == "jsonl",
            max_batch_tokens=settings.max_batch_tokens,
        )

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
