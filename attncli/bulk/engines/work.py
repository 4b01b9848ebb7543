"""The function that every engine runs: a shard in, its part out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from attncli.bulk.inputs import input_kind
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, RecordNote, Shard
from attncli.bulk.tasks import BulkTask, RecordResult, open_task
from attncli.data.lines import CHUNK_LINES


class ShardWorker:
    """The opened models of a job; a call processes a shard."""

    def __init__(self, job: BulkJob) -> None:
        self.job, self.task, self.kind = job, open_task(job), input_kind(job.input)

    def __call__(self, shard: Shard) -> Part:
        """Return the results of a shard. A record that cannot be processed costs only its row."""
        reading = self.kind.read(shard, self.job, self.task)
        results = list(all_results(self.task, reading.records))
        errors, warnings = list(reading.faults), []
        for number, result in zip(reading.numbers, results, strict=True):
            errors += [RecordNote(number, result.error)] if result.value is None else []
            warnings += [RecordNote(number, text) for text in result.warnings]
        body = reading.write(results)
        return Part(shard.number, shard.size, body, tuple(errors), tuple(warnings))


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
