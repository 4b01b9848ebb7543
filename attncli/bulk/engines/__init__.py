"""Engines of `attn bulk`: one file each, which lets workers process shards.

An engine is a function `process(job, shards, processes)`. It yields the parts of the shards in any
order, and takes shards only as fast as its workers need them. It retries a shard whose worker dies,
and ends its workers when it is closed. processes: workers at the same time; 0: as many as fit.
"""

from __future__ import annotations

from collections.abc import Generator

from attncli.bulk.plan.shards import Part

Parts = Generator[Part, None, None]

DEATHS = 5  # of workers on one shard, after which a job stops
ENGINES = {  # name: module:function
    "local": "attncli.bulk.engines.local:process",
    "ray": "attncli.bulk.engines.ray_actors:process",
}
