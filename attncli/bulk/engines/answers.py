"""Answers of workers as bytes, for engines whose workers are other processes.

An answer begins with a letter: P and a part, F and a user's mistake, B and the traceback of a bug.
Models are opened at the first shard, so that a mistake becomes an answer and does not end a worker.
"""

from __future__ import annotations

import traceback

from attncli.bulk.engines.work import ShardWorker
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, part_from_bytes, part_to_bytes, shard_from_bytes
from models.base.errors import ModelError

PART, FAULT, BUG = b"P", b"F", b"B"


class AnsweringWorker:
    """A worker that takes shards as bytes and returns answers as bytes."""

    def __init__(self, job: str) -> None:
        """Keep the job, as `BulkJob.to_json` writes it."""
        self._job = job
        self._work: ShardWorker | None = None

    def __call__(self, shard: bytes) -> bytes:
        """Return the answer to a shard."""
        try:
            self._work = self._work or ShardWorker(BulkJob.from_json(self._job))
            return PART + part_to_bytes(self._work(shard_from_bytes(shard)))
        except ModelError as error:
            return FAULT + "\n".join([error.found, error.expected, error.hint]).encode()
        except Exception:
            return BUG + traceback.format_exc().encode()


def part_of(answer: bytes) -> Part:
    """Return the part of an answer; raise ModelError for a mistake, RuntimeError for a bug."""
    kind, content = answer[:1], answer[1:]
    if kind == FAULT:
        raise ModelError(*content.decode().split("\n"))
    if kind == BUG:
        raise RuntimeError(f"a worker failed\n{content.decode()}")
    return part_from_bytes(content)
