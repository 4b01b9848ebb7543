"""Engines of `attn bulk`, and the worker of each: a shard as bytes in, an answer as bytes out.

An engine is a function `process(job, shards, processes)`. It yields the parts of the shards in any
order, and takes shards only as fast as its workers need them. It retries a shard whose worker dies,
and ends its workers when it is closed. processes: workers at the same time; 0: as many as fit.

An answer begins with a letter: P and a part, F and a user's mistake, B and the traceback of a bug.
Models are opened at the first shard, so that a mistake becomes an answer and does not end a worker.
"""

from __future__ import annotations

import traceback
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from typing import Any

from attncli.bulk.inputs import INPUTS
from attncli.bulk.job import BulkJob, Part, RecordNote, Shard
from attncli.bulk.tasks import BulkTask, RecordResult, open_task
from attncli.data.lines import CHUNK_LINES
from models.base.errors import ModelError

Parts = Generator[Part, None, None]

DEATHS = 5  # of workers on one shard, after which a job stops
ENGINES = {  # name: module:function
    "local": "attncli.bulk.local:process",
    "ray": "attncli.bulk.ray_actors:process",
}
PART, FAULT, BUG = b"P", b"F", b"B"


class ShardWorker:
    """The opened models of a job; a call processes a shard."""

    def __init__(self, job: str) -> None:
        """Keep the job, as `BulkJob.to_json` writes it."""
        self.job = BulkJob.from_json(job)

    @cached_property
    def task(self) -> BulkTask:
        """The opened models."""
        return open_task(self.job)

    def __call__(self, shard: bytes) -> bytes:
        """Return the answer to a shard."""
        try:
            return PART + self.part(Shard.from_bytes(shard)).to_bytes()
        except ModelError as error:
            return FAULT + "\n".join([error.found, error.expected, error.hint]).encode()
        except Exception:
            return BUG + traceback.format_exc().encode()

    def part(self, shard: Shard) -> Part:
        """Return the results of a shard. A record that cannot be processed costs only its row."""
        reading = INPUTS[self.job.input].read(shard, self.job, self.task)
        results = list(all_results(self.task, reading.records))
        notes = list(reading.faults)
        for number, result in zip(reading.numbers, results, strict=True):
            notes += [RecordNote(number, "error", result.error)] if result.value is None else []
            notes += [RecordNote(number, "warning", text) for text in result.warnings]
        return Part(shard.number, shard.size, tuple(notes), reading.write(results))


def part_of(answer: bytes) -> Part:
    """Return the part of an answer; raise ModelError for a mistake, RuntimeError for a bug."""
    kind, content = answer[:1], answer[1:]
    if kind == FAULT:
        raise ModelError(*content.decode().split("\n"))
    if kind == BUG:
        raise RuntimeError(f"a worker failed\n{content.decode()}")
    return Part.from_bytes(content)


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
