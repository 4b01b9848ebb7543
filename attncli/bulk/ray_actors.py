"""Actors on a Ray cluster, or on a Ray instance that is started on this machine.

RAY_ADDRESS names the cluster. Ray schedules the actors, starts a dead one again and repeats its
shard. The machines need attn, and the folders of the models and images under the same paths.

An actor asks for a part of a processor. The actors of a job together ask for at most half of the
processors: if they asked for all, they would wait for ever as soon as anything else runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from attncli.bulk.job import BulkJob, Shard
from attncli.bulk.work import DEATHS, Parts, ShardWorker, part_of
from models.base.errors import NotFoundError, ResourceError

AHEAD = 2  # shards that an actor has: one that it processes, one that waits
SHARE = 0.5  # of the processors, for which the actors ask together


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the part of each shard, in the order in which they are done."""
    try:
        import ray
    except ImportError:
        raise NotFoundError(
            "--engine ray without Ray", "the package ray", "install it: pip install 'attn[ray]'"
        ) from None
    own = not ray.is_initialized()
    if own:
        _connect(ray)
    actors = _actors(ray, job, processes)
    try:
        yield from _processed(ray, actors, shards)
    finally:
        for actor in actors:
            with suppress(Exception):  # an actor that is dead already
                ray.kill(actor)
        if own:
            ray.shutdown()


def _connect(ray: Any) -> None:
    """Connect to the cluster of RAY_ADDRESS; start an instance on this machine without one."""
    local = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ResourceError(
            f"cannot connect to Ray ({str(error).splitlines()[0]})",
            "a running cluster at RAY_ADDRESS, or no RAY_ADDRESS",
        ) from None


def _actors(ray: Any, job: BulkJob, processes: int) -> list[Any]:
    """Start the actors: one for each GPU or processor of the cluster, or the requested number."""
    there = ray.cluster_resources()
    processors = there.get("CPU", 1.0)
    gpus = there.get("GPU", 0.0) if job.device in ("auto", "cuda") else 0.0
    threads = max(1, job.threads)
    count = processes or int(gpus) or max(1, int(processors // threads))
    options = {
        "num_cpus": min(threads, SHARE * processors / count),
        "num_gpus": min(1.0, gpus / count),
        "max_restarts": -1,
        "max_task_retries": DEATHS * AHEAD - 1,  # a death counts for each shard of an actor
    }
    actor = ray.remote(ShardWorker).options(**options)
    return [actor.remote(job.to_json()) for _ in range(count)]


def _processed(ray: Any, actors: list[Any], shards: Iterator[Shard]) -> Parts:
    """Let each actor process a shard as soon as it has room for one."""
    waiting: dict[Any, Any] = {}  # the actor of each pending answer

    def submit(actor: Any) -> None:
        shard = next(shards, None)
        if shard is not None:
            waiting[actor.__call__.remote(shard.to_bytes())] = actor

    for _ in range(AHEAD):
        for actor in actors:
            submit(actor)
    while waiting:
        [answer], _ = ray.wait(list(waiting))
        submit(waiting.pop(answer))
        try:
            content = ray.get(answer)
        except ray.exceptions.RayError as error:
            raise ResourceError(
                f"Ray could not process a shard ({str(error).splitlines()[0]})",
                "workers with enough memory",
                "finished parts are kept; the same command continues",
            ) from None
        yield part_of(content)
