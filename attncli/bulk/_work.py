"""Workers of `attn bulk`: actors of Ray, which starts on this machine or joins a cluster."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from attncli.bulk._job import BulkJob
from attncli.bulk._shards import Shard, ShardResult, ShardWorker
from models.core.errors import ModelError, NotFoundError, ResourceError, install_command

# a shard that kills every worker would otherwise be tried for ever
DEATHS = 5  # of workers on one shard, after which a job stops
# of the processors, for which the actors of Ray ask together: with all, they would wait for ever as
# soon as anything else runs
SHARE = 0.5


def process(
    job: BulkJob, shards: Iterator[Shard], processes: int
) -> Generator[ShardResult, None, None]:
    """Yield the parts of the shards in any order, computed by actors.

    Shards are taken as fast as the actors need them. Ray starts an actor again if it dies; the
    actors end when this is closed. processes: actors; 0: one for each GPU, or for each processor.
    """
    try:
        import ray
        from ray.util import ActorPool
    except ImportError:
        raise NotFoundError(
            "attn bulk without Ray", "the package ray", f"install it: {install_command('ray')}"
        ) from None
    own = _connect(ray)
    actors = _actors(ray, job, processes)
    pool: Any = ActorPool(actors)
    try:
        for shard in shards:
            # shards are read only when an actor is free, so that memory stays constant
            if not pool.has_free():
                yield pool.get_next_unordered()
            pool.submit(lambda actor, one: actor.part.remote(one), shard)
        while pool.has_next():
            yield pool.get_next_unordered()
    except ray.exceptions.RayError as error:
        if isinstance(cause := getattr(error, "cause", None), ModelError):
            raise cause from None
        raise ResourceError(
            f"Ray could not process a shard ({str(error).splitlines()[0]})",
            "workers with enough memory",
            "finished parts are kept; the same command continues",
        ) from None
    finally:
        for actor in actors:
            with suppress(Exception):  # an actor that is dead already
                ray.kill(actor)
        if own:
            ray.shutdown()


def _connect(ray: Any) -> bool:
    """Start or join a cluster; return True unless the program was connected before.

    Workers search the modules that they import in the current folder of their driver, too. A
    `json.py` beside the data is not to be run, so that folder is attn's own while Ray starts.
    """
    if ray.is_initialized():
        return False
    local = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    folder = Path.cwd()
    try:
        os.chdir(Path(__file__).parents[2])
        ray.init(log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ResourceError(
            f"cannot connect to Ray ({str(error).splitlines()[0]})",
            "a running cluster at RAY_ADDRESS, or no RAY_ADDRESS",
        ) from None
    finally:
        os.chdir(folder)
    return True


def _actors(ray: Any, job: BulkJob, processes: int) -> list[Any]:
    """Start the actors: one for each GPU or processor of the cluster, or the requested number."""
    there = ray.cluster_resources()
    cores, threads = there.get("CPU", 1.0), max(1, job.threads)
    graphics = there.get("GPU", 0.0) if job.device in ("auto", "cuda") else 0.0
    count = processes or int(graphics) or max(1, int(cores // threads))
    actor = ray.remote(ShardWorker).options(
        num_cpus=min(threads, SHARE * cores / count),
        num_gpus=min(1.0, graphics / count),
        # an actor that ran out of memory is started again; DEATHS bounds the attempts of one shard
        max_restarts=-1,
        max_task_retries=DEATHS - 1,
    )
    return [actor.remote(job) for _ in range(count)]
