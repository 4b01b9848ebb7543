"""Classification of the records of a bulk job, as `attn classify` classifies lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.lines import ClassifiedLine, Line
from attncli.jobs.loading import OpenOptions
from attncli.options.settings import GivenSettings, read_settings
from attncli.render.rows import RowLayout
from attncli.tasks.classify.command import ClassifyTables
from attncli.tasks.classify.lines import ClassifyRunner
from attncli.tasks.classify.writers import rendered


class ClassifyTask(BulkTask):
    """Classifiers of the lines of shards."""

    doing, shipped = "classifying", "classify"
    into = "label"
    unused_tables = ("picture",)

    def __init__(self, job: BulkJob) -> None:
        format, nbest = job.settings["format"], job.settings["nbest"]
        tables = self.given(job.settings).tables
        options = OpenOptions(job.device, job.threads, tables.attention.read_decode)
        self.layout = RowLayout(format, nbest > 1, job.settings["scores"])
        self.weights, size = format == "jsonl", tables.compute.batch_tokens
        self.runner = ClassifyRunner.open(
            Path(job.models[0]), options, nbest=nbest, max_batch_tokens=size
        )

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[ClassifyTables]:
        """Return the settings."""
        return read_settings(ClassifyTables, settings["set"])

    def run(self, records: Sequence[Line]) -> list[RecordResult]:
        """Return the rows, label and warning of each line."""
        [outcomes] = self.runner.run([list(records)], weights=self.weights)
        return [self._result(outcome) for outcome in outcomes]

    def failed(self, record: Line, error: str) -> RecordResult:
        """Return the row of a line without labels."""
        return self._result(ClassifiedLine(record, None, error))

    def _result(self, outcome: ClassifiedLine) -> RecordResult:
        row = rendered([outcome], self.layout)
        if outcome.result is None:
            return RecordResult(row, None, outcome.note)
        labels = outcome.result.labels
        warnings = tuple(filter(None, [outcome.note]))
        return RecordResult(row, labels[0].label if labels else "", warnings=warnings)
