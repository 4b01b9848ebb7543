"""Results of records, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.lines import CHUNK_LINES


def all_results(task: BulkTask, records: Sequence[Any]) -> Iterator[RecordResult]:
    """Yield the result of each record, in the chunks that the commands for lines compute."""
    for start in range(0, len(records), CHUNK_LINES):
        yield from results_of(task, records[start : start + CHUNK_LINES])


def results_of(task: BulkTask, records: Sequence[Any]) -> list[RecordResult]:
    """Return the result of each record of a chunk.

    If the chunk raises an exception, each record is processed alone, and those that raise get an
    error. If every one of several records raises, the task itself fails: the exception is raised.
    """
    try:
        return task.run(records)
    except Exception:
        found = [_alone(task, record) for record in records]
        if len(found) > 1 and all(result.error for result in found):
            raise
        return found


def _alone(task: BulkTask, record: Any) -> RecordResult:
    try:
        [result] = task.run([record])
        return result
    except Exception as error:
        return task.failed(record, f"{type(error).__name__}: {error}")
