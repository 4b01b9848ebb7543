"""Tasks of `attn bulk`: one file each, which opens the models and processes records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from attncli.bulk.job import BulkJob
from models.base.places import imported

TASKS = {  # name: module:class
    "translate": "attncli.tasks.translate.bulk:TranslateTask",
    "classify": "attncli.tasks.classify.bulk:ClassifyTask",
    "caption": "attncli.tasks.caption.bulk:CaptionTask",
    "align": "attncli.tasks.align.bulk:AlignTask",
}


class RecordResult(NamedTuple):
    """Result of one record."""

    row: bytes  # rows in the output format
    value: str | None  # the best result as text; None: there is none, `error` says why
    error: str = ""
    warnings: tuple[str, ...] = ()


class BulkTask(Protocol):
    """Opened models. Records are lines (attncli.data.lines), or images (named_images)."""

    into: str  # field or column of the results in JSON lines, Parquet and other tables

    def __init__(self, job: BulkJob) -> None:
        """Open the models. Raises ModelError if they do not suit the task."""

    def record(self, value: Any, number: int) -> Any:
        """Return the record of a value of a table: a text, or path or bytes of an image."""

    def run(self, records: Sequence[Any]) -> list[RecordResult]:
        """Return the result of each record; one that cannot be processed has an error."""

    def failed(self, record: Any, error: str) -> RecordResult:
        """Return the result of a record that could not be processed."""


def open_task(job: BulkJob) -> BulkTask:
    """Open the models of a job. This imports torch, or CTranslate2."""
    task: BulkTask = imported(TASKS[job.task])(job)
    return task
