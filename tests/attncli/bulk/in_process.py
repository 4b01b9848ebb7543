"""An engine of `attn bulk` without worker processes, for tests of what is written."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard, ShardResult, ShardWorker


def kill_itself(shard: Shard) -> None:
    """End this process, a worker, as a lack of memory does."""
    os.kill(os.getpid(), signal.SIGKILL)


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Iterator[ShardResult]:
    """Yield the part of each shard, as attncli.bulk.work.local does."""
    yield from map(ShardWorker(job).part, shards)
