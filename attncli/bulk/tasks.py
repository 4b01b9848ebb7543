"""Tasks of `attn bulk`: one class each, named in attncli.tasks.table. It opens a task's runner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

from attncli.data.images.named import IMAGES
from attncli.data.lines import CHUNK_LINES, Line
from attncli.tasks.table import BULK
from models.base.errors import unknown_name

if TYPE_CHECKING:
    from attncli.bulk.job import BulkJob


class RecordResult(NamedTuple):
    """Result of one record."""

    row: bytes  # rows in the output format
    value: str | None  # the best result as text; None: there is none, `error` says why
    error: str = ""
    warnings: tuple[str, ...] = ()


class BulkTask(ABC):
    """Opened models. Records are lines (attncli.data.lines), or images (named_images)."""

    doing: str  # label of the progress: "translating"
    shipped: str  # task of the shipped model that is used without -m
    input = "lines"  # kind of its records: lines, or images and other files
    files = IMAGES  # of the input images: names of the files in folders and archives
    fields = 1  # of JSON lines that make up a record
    into: str  # field or column of the results in JSON lines and tables
    documents = ""  # command for documents, whose lines are not records
    unused_tables: tuple[str, ...]  # tables of the command's settings that a bulk job does not use

    @abstractmethod
    def __init__(self, job: BulkJob) -> None:
        """Open the models. Raises ModelError if they do not suit the task."""

    @staticmethod
    @abstractmethod
    def given(settings: Mapping[str, Any]) -> Any:
        """Return the GivenSettings of a job's settings; raise an error if they cannot be used."""

    def record(self, value: Any, number: int) -> Any:
        """Return the record of a value of a table: a text, or path or bytes of an image."""
        return Line(number, value)

    @abstractmethod
    def run(self, records: Sequence[Any]) -> list[RecordResult]:
        """Return the result of each record; one that cannot be processed has an error."""

    @abstractmethod
    def failed(self, record: Any, error: str) -> RecordResult:
        """Return the result of a record that could not be processed."""

    def results(self, records: Sequence[Any]) -> Iterator[RecordResult]:
        """Yield the result of each record, in the chunks that the commands for lines compute."""
        for start in range(0, len(records), CHUNK_LINES):
            yield from results_of(self, records[start : start + CHUNK_LINES])


def results_of(task: BulkTask, records: Sequence[Any]) -> list[RecordResult]:
    """Return the result of each record of a chunk.

    If the chunk raises an exception, each record is processed alone, and those that raise get an
    error. If every one of several records raises, the task itself fails: the exception is raised.
    """

    def alone(record: Any) -> RecordResult:
        try:
            return task.run([record])[0]
        except Exception as error:
            return task.failed(record, f"{type(error).__name__}: {error}")

    try:
        return task.run(records)
    except Exception:
        found = [alone(record) for record in records]
        if len(found) > 1 and all(result.error for result in found):
            raise
        return found


def bulk_task(name: str) -> type[BulkTask]:
    """Return the class of a task; raise UnknownNameError if no task with bulk jobs has the name."""
    if name not in BULK:
        hint = "attn bulk IN OUT -- translate --to de"
        raise unknown_name("task", name, BULK, hint=hint)
    return resolve_name(BULK[name])


def open_task(job: BulkJob) -> BulkTask:
    """Open the models of a job. This imports torch, or CTranslate2."""
    return bulk_task(job.task)(job)
