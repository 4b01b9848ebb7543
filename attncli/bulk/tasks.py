"""What a task of `attn bulk` is: its runner, and the form of its results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from attncli.data.lines import CHUNK_LINES, Line

if TYPE_CHECKING:
    from attncli.bulk.job import BulkJob
    from attncli.data.images.named import FileKind


class RecordResult(NamedTuple):
    """Result of one record."""

    row: bytes  # rows in the output format
    value: str | None  # the best result as text; None: there is none, the note says why
    notes: tuple[str, ...] = ()

    @property
    def error(self) -> str:
        """Why there is no result; empty if there is one."""
        return "".join(self.notes) if self.value is None else ""


class BulkTask(ABC):
    """Opened models. Records are lines (attncli.data.lines), or images (named_images)."""

    doing: ClassVar[str]  # label of the progress: "translating"
    shipped: ClassVar[str]  # task of the shipped model that is used without -m
    files: ClassVar[FileKind | None] = None  # records in folders and archives; None: lines
    fields = 1  # of JSON lines that make up a record
    into: ClassVar[str]  # field or column of the results in JSON lines and tables
    documents = ""  # command for documents, whose lines are not records
    unused_tables: tuple[str, ...] = ()  # of the command's settings
    run: Callable[[Sequence[Any]], Iterable[Any]]  # the runner: one result for each record
    row: Callable[[Any], bytes]  # the rows of a result in the output format

    @abstractmethod
    def __init__(self, job: BulkJob) -> None:
        """Open the models. Raises ModelError if they do not suit the task."""

    @staticmethod
    @abstractmethod
    def options(settings: Mapping[str, Any], **how: Any) -> Any:
        """Return the Options of a job from its settings; raise an error if they cannot be used.

        how: further options: device, threads and, to align, the reverse model.
        """

    @abstractmethod
    def failed(self, record: Any, error: str) -> Any:
        """Return the result of a record that could not be processed."""

    @abstractmethod
    def value(self, result: Any) -> tuple[str | None, ...]:
        """Return the best result as text, None if there is none, and notes about it."""

    def record(self, value: Any, number: int) -> Any:
        """Return the record of a value of a table: a text, or path or bytes of an image."""
        if self.files is None:
            return Line(number, value)
        return self.files.named(value, number)

    def results(self, records: Sequence[Any]) -> Iterator[RecordResult]:
        """Yield the result of each record, in the chunks that the commands for lines compute."""
        for start in range(0, len(records), CHUNK_LINES):
            for result in results_of(self, records[start : start + CHUNK_LINES]):
                value, *notes = self.value(result)
                yield RecordResult(self.row(result), value, tuple(filter(None, notes)))


def results_of(task: BulkTask, records: Sequence[Any]) -> list[Any]:
    """Return the result of each record of a chunk.

    If the chunk raises an exception, each record is processed alone, and those that raise get an
    error. If every one of several records raises, the task itself fails: the exception is raised.
    """
    try:
        return list(task.run(records))
    except Exception:
        found, failures = list[Any](), 0
        for record in records:
            try:
                found += task.run([record])
            except Exception as error:
                found.append(task.failed(record, f"{type(error).__name__}: {error}"))
                failures += 1
        if len(found) == failures > 1:
            raise
        return found
