"""The work of `attn bulk` in the process of the test, without Ray."""

from __future__ import annotations

from collections.abc import Iterator

from attncli.bulk import _work as bulk_work
from attncli.bulk._job import BulkJob
from attncli.bulk._shards import Shard, ShardResult, ShardWorker
from attncli.shell import app


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[ShardResult]:
    """Yield the part of each shard, as attncli.bulk._work does."""
    yield from map(ShardWorker(job).part, shards)


if __name__ == "__main__":
    bulk_work.process = process  # type: ignore[assignment]
    app.main()
