"""An engine of `attn bulk` without worker processes, for tests of what is written."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.bulk.engines.answers import AnsweringWorker, part_of
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, Shard, shard_to_bytes


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[Part]:
    """Yield the part of each shard, as attncli.bulk.engines.local does."""
    worker = AnsweringWorker(job.to_json())
    for shard in shards:
        yield part_of(worker(shard_to_bytes(shard)))
