"""An engine of `attn bulk` without worker processes, for tests of what is written."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.bulk.engines.work import ShardWorker
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, Shard


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[Part]:
    """Yield the part of each shard, as attncli.bulk.engines.local does."""
    yield from map(ShardWorker(job.to_json()).part, shards)
