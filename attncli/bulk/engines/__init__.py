"""Engines of `attn bulk`: one file each, which lets workers process shards.

An engine yields the parts of shards in any order. It takes shards from an iterator only as fast as
its workers need them. It retries a shard whose worker dies, and ends its workers when it is closed.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Protocol

from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, Shard
from models.base.places import imported

Parts = Generator[Part, None, None]

DEATHS = 5  # of workers on one shard, after which a job stops
ENGINES = {  # name: module:function
    "local": "attncli.bulk.engines.local:process",
    "ray": "attncli.bulk.engines.ray_actors:process",
}


class BulkEngine(Protocol):
    """Function that lets workers process shards."""

    def __call__(self, job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
        """Yield the part of each shard. processes: workers at the same time; 0: as many as fit."""


def bulk_engine(name: str) -> BulkEngine:
    """Return an engine by its name."""
    found: BulkEngine = imported(ENGINES[name])
    return found
