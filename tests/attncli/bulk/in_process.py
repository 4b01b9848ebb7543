"""An engine of `attn bulk` without worker processes, for tests of what is written."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.bulk.job import BulkJob, Part, Shard
from attncli.bulk.work import ShardWorker


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[Part]:
    """Yield the part of each shard, as attncli.bulk.local does."""
    yield from map(ShardWorker(job.to_json()).part, shards)
