"""Classification of the records of a bulk job, as `attn classify` classifies lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult
from attncli.data.classified import ClassifiedLine
from attncli.data.lines import Line
from attncli.jobs import loading
from attncli.jobs.classify import classify_lines
from attncli.jobs.loading import OpenOptions
from attncli.render.classifications import LabelLayout, rendered
from models.config import MAX_BATCH_TOKENS


@dataclass(frozen=True)
class ClassifySettings:
    """Settings of a bulk classification; see the options of `attn classify`."""

    format: str = "text"
    nbest: int = 1
    scores: bool = False
    read_mode: str | None = None
    max_batch_tokens: int = MAX_BATCH_TOKENS


class ClassifyTask:
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

    def record(self, value: str, number: int) -> Line:
        """Return a text as a line."""
        return Line(number, value)

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the labels of each line."""
        [outcomes] = self._classify([list(records)])
        return [self._result(outcome) for outcome in outcomes]

    def failed(self, record: Line, error: str) -> RecordResult:
        """Return the row of a line that could not be classified."""
        return self._result(ClassifiedLine(record, None, error))

    def _result(self, outcome: ClassifiedLine) -> RecordResult:
        row = rendered([outcome], self.layout)
        if outcome.result is None:
            return RecordResult(row, None, outcome.note)
        labels = outcome.result.labels
        warnings = tuple(filter(None, [outcome.note]))
        return RecordResult(row, labels[0].label if labels else "", warnings=warnings)
