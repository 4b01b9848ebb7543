"""Tasks of `attn bulk`: one file each, which opens the models and processes records.

The options of a task are those of its command; attncli/bulk/task_words.py parses them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NamedTuple, Protocol, TypeVar

from attncli.bulk.plan.job import BulkJob
from models.base.places import imported

S = TypeVar("S")


class TaskPlace(NamedTuple):
    """Places of a task, as module:name."""

    task: str  # class
    command: str  # function whose options the task takes
    shipped: str  # task of the shipped model that is used without -m


TASKS = {
    "translate": TaskPlace(
        "attncli.tasks.translate.bulk:TranslateTask",
        "attncli.tasks.translate.command:translate",
        "translate",
    ),
    "classify": TaskPlace(
        "attncli.tasks.classify.bulk:ClassifyTask",
        "attncli.tasks.classify.command:classify",
        "classify",
    ),
    "caption": TaskPlace(
        "attncli.tasks.caption.bulk:CaptionTask", "attncli.tasks.caption.command:caption", "caption"
    ),
    "align": TaskPlace(
        "attncli.tasks.align.bulk:AlignTask", "attncli.tasks.align.command:align", "translate"
    ),
}


class RecordResult(NamedTuple):
    """Result of one record."""

    row: bytes  # rows in the output format
    value: str | None  # the best result as text; None: there is none, `error` says why
    error: str = ""
    warnings: tuple[str, ...] = ()


class BulkTask(Protocol):
    """Opened models. Records are lines (attncli.data.lines), or images (named_images)."""

    into: str  # field or column of the results in JSON lines and tables
    settings_class: type  # dataclass; its fields are parameters of the command
    unused_tables: tuple[str, ...]  # tables of the command's settings that a bulk job does not use

    def __init__(self, job: BulkJob) -> None:
        """Open the models. Raises ModelError if they do not suit the task."""

    @staticmethod
    def check(settings: Any) -> None:
        """Raise an error for settings that cannot be used. Models are not opened for this."""

    def record(self, value: Any, number: int) -> Any:
        """Return the record of a value of a table: a text, or path or bytes of an image."""

    def run(self, records: Sequence[Any]) -> list[RecordResult]:
        """Return the result of each record; one that cannot be processed has an error."""

    def failed(self, record: Any, error: str) -> RecordResult:
        """Return the result of a record that could not be processed."""


def open_task(job: BulkJob) -> BulkTask:
    """Open the models of a job. This imports torch, or CTranslate2."""
    task: BulkTask = imported(TASKS[job.task].task)(job)
    return task


def settings_of(kind: type[S], values: Mapping[str, Any]) -> S:
    """Return a dataclass of settings from the values of a command's parameters."""
    return kind(**{name: values[name] for name in parameters_of(kind)})


def parameters_of(kind: type) -> set[str]:
    """Return the parameters of a command that a dataclass of settings contains."""
    return {field.name for field in fields(kind)}
