"""The work of `attn bulk` in the process of the test, without Ray."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.bulk import work
from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard, ShardResult, ShardWorker
from attncli.shell import app


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[ShardResult]:
    """Yield the part of each shard, as attncli.bulk.work does."""
    yield from map(ShardWorker(job).part, shards)


if __name__ == "__main__":
    work.process = process  # type: ignore[assignment]
    app.main()
