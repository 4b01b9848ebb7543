"""Workers of `attn bulk`: processes of this machine, or actors of a Ray cluster.

An engine is a function `process(job, shards, processes)`. It yields the parts of the shards in any
order, takes shards only as fast as its workers need them, retries a shard whose worker dies, and
ends its workers when it is closed. processes: workers at the same time; 0: as many as fit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import Counter
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.shards import Shard, ShardResult, ShardWorker
from attncli.terminal import console
from models.base.errors import ModelError, NotFoundError, ResourceError, install_command
from models.base.limits import processors

DEATHS = 5  # of workers on one shard, after which a job stops
AHEAD = 4  # shards per worker whose parts are not written yet
# of the processors, for which the actors of Ray ask together: with all, they would wait for ever as
# soon as anything else runs
SHARE = 0.5
VISIBLE = "CUDA_VISIBLE_DEVICES"


Parts = Generator[ShardResult, None, None]
WORKERS: list[ShardWorker] = []  # that of this process, if it is a worker


def local(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the parts of the shards, computed by processes of this machine.

    If one dies, all are started again with the shards that they had. After DEATHS on one shard the
    job stops, because the shard itself may need more memory than there is.
    """
    size = processes or len(gpus(job.device)) or max(1, processors() // max(1, job.threads))
    deaths: Counter[int] = Counter()
    unfinished: dict[int, Shard] = {}
    context = multiprocessing.get_context("spawn")
    while True:
        given, futures = chain([*unfinished.values()], shards), set[Future[Any]]()
        begun = job, context.Value("i", 0)
        pool = ProcessPoolExecutor(size, context, initializer=_begin, initargs=begun)
        try:
            while True:
                for shard in islice(given, AHEAD * size - len(futures)):
                    unfinished[shard.number] = shard
                    futures.add(pool.submit(_part, shard))
                if not futures:
                    return
                done, futures = wait(futures, return_when=FIRST_COMPLETED)
                for future in done:
                    part = future.result()
                    yield part
                    del unfinished[part.number]
        except BrokenProcessPool:
            for shard in islice(unfinished.values(), size):  # the workers had these
                deaths[shard.number] += 1
                if deaths[shard.number] >= DEATHS:
                    raise _deadly(shard) from None
        finally:
            for process in multiprocessing.active_children():
                process.kill()
            pool.shutdown(cancel_futures=True)


def _deadly(shard: Shard) -> ResourceError:
    return ResourceError(
        f"{DEATHS} workers ended without a result for one shard ({shard.size} records from record "
        f"{shard.first} on)",
        "enough memory for each worker",
        "finished parts are kept; continue with fewer --processes or smaller --shard",
    )


def _begin(job: BulkJob, started: Any) -> None:
    """Prepare a worker process: its threads, one GPU of several, its end with its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends it
    parent = multiprocessing.parent_process()
    assert parent is not None
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    with started.get_lock():
        number, started.value = started.value, started.value + 1
    if job.threads:
        os.environ["OMP_NUM_THREADS"] = str(job.threads)
    if names := gpus(job.device):
        os.environ[VISIBLE] = names[number % len(names)]
    console.be_quiet()  # remarks about the model would be repeated by each worker
    WORKERS.append(ShardWorker(job))


def _end_with(parent: Any) -> None:
    parent.join()
    os._exit(1)


def _part(shard: Shard) -> ShardResult:
    return WORKERS[0].part(shard)


def gpus(device: str) -> list[str]:
    """Return the names of the NVIDIA GPUs that a device (auto, cuda) may be, without torch."""
    if device not in ("auto", "cuda"):
        return []
    listed = os.environ.get(VISIBLE)
    if listed is not None:
        return [name for name in listed.split(",") if name.strip() not in ("", "-1")]
    found = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return sorted(found, key=int)


def on_ray(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the parts of the shards, computed by actors, which Ray starts again if they die."""
    try:
        import ray
        from ray.util import ActorPool
    except ImportError:
        raise NotFoundError(
            "--engine ray without Ray", "the package ray", f"install it: {install_command('ray')}"
        ) from None
    own = _connect(ray)
    actors = _actors(ray, job, processes)
    pool: Any = ActorPool(actors)
    try:
        for shard in shards:
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
    """Start or join a cluster; return True unless the program was connected before."""
    if ray.is_initialized():
        return False
    local = {} if os.environ.get("RAY_ADDRESS") else {"include_dashboard": False}
    try:
        ray.init(log_to_driver=False, logging_level="ERROR", **local)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ResourceError(
            f"cannot connect to Ray ({str(error).splitlines()[0]})",
            "a running cluster at RAY_ADDRESS, or no RAY_ADDRESS",
        ) from None
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
        max_restarts=-1,
        max_task_retries=DEATHS - 1,
    )
    return [actor.remote(job) for _ in range(count)]


ENGINES = {"local": local, "ray": on_ray}
