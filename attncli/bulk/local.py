"""Worker processes on this machine.

A thread supervises each process: it sends a shard and waits for the part. A process that dies is
started again with the same shard. After DEATHS on one shard the job stops, because the shard itself
may need more memory than there is; its finished parts stay.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import count, islice
from pathlib import Path
from typing import Any

from attncli.bulk import local_worker
from attncli.bulk.job import BulkJob, Part, Shard
from attncli.bulk.local_worker import read_frame, write_frame
from attncli.bulk.work import DEATHS, Parts, part_of
from models.base.errors import ResourceError
from models.base.processors import processors

AHEAD = 4  # shards per worker whose parts are not written yet
VISIBLE = "CUDA_VISIBLE_DEVICES"


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the part of each shard, in the order in which they are done."""
    size = processes or len(gpus(job.device)) or max(1, processors() // max(1, job.threads))
    workers = _Workers(job)
    pool = ThreadPoolExecutor(size, initializer=workers.begin)
    try:
        waiting = {pool.submit(workers.process, shard) for shard in islice(shards, AHEAD * size)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(workers.process, each) for each in islice(shards, len(done))}
            for answer in done:
                yield answer.result()
    finally:
        workers.end()
        pool.shutdown(cancel_futures=True)


class WorkerDied(Exception):
    """A worker process that ended before its answer."""


class _Workers:
    """Worker processes, one for each thread that processes shards."""

    def __init__(self, job: BulkJob) -> None:
        self.job = job
        self._own, self._numbers = threading.local(), count()
        self._lock, self._ended = threading.Lock(), False
        self._all: list[_Worker] = []

    def begin(self) -> None:
        """Give this thread its number; its worker starts with the first shard."""
        self._own.number, self._own.worker = next(self._numbers), None

    def process(self, shard: Shard) -> Part:
        """Return the part of a shard by the worker of this thread, a new one if that dies."""
        for _ in range(DEATHS):
            try:
                return self._worker().process(shard)
            except WorkerDied as death:
                last, self._own.worker = death, None
        raise ResourceError(
            f"{DEATHS} workers ended without a result for one shard ({shard.size} records from "
            f"record {shard.first} on); the last {last}",
            "enough memory for each worker",
            "finished parts are kept; continue with fewer --processes or smaller --shard",
        )

    def end(self) -> None:
        """End all processes."""
        with self._lock:
            self._ended = True
            for worker in self._all:
                worker.kill()

    def _worker(self) -> _Worker:
        with self._lock:
            if self._ended:
                raise WorkerDied("was ended")
            if self._own.worker is None:
                self._own.worker = _Worker(self.job, self._own.number)
                self._all.append(self._own.worker)
            return self._own.worker


class _Worker:
    """A worker process."""

    def __init__(self, job: BulkJob, number: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(local_worker.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=_environment(job, number),
            start_new_session=True,  # Ctrl-C reaches only the process that supervises
        )
        self._job: str | None = job.to_json()

    def process(self, shard: Shard) -> Part:
        """Return the part of a shard; raise WorkerDied if the process ends before."""
        answer = self._answer(shard)
        if answer is None:
            self.kill()
            status = self._process.returncode
            reason = f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
            raise WorkerDied(reason)
        return part_of(answer)

    def kill(self) -> None:
        """End the process at once, and wait for its end."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                stream and stream.close()

    def _answer(self, shard: Shard) -> bytes | None:
        send: Any = self._process.stdin
        receive: Any = self._process.stdout
        try:
            if self._job:
                write_frame(send, self._job.encode())
                self._job = None
            write_frame(send, shard.to_bytes())
            return read_frame(receive)
        except (OSError, ValueError):  # a broken pipe, or a stream closed by `kill`
            return None


def _environment(job: BulkJob, number: int) -> dict[str, str]:
    """Return the environment of a worker: its threads, and one GPU of several."""
    environment = dict(os.environ)
    if job.threads:
        environment["OMP_NUM_THREADS"] = str(job.threads)
    if names := gpus(job.device):
        environment[VISIBLE] = names[number % len(names)]
    return environment


def gpus(device: str) -> list[str]:
    """Return the names of the NVIDIA GPUs that a device (auto, cuda) may be, without torch."""
    if device not in ("auto", "cuda"):
        return []
    listed = os.environ.get(VISIBLE)
    if listed is not None:
        return [name for name in listed.split(",") if name.strip() not in ("", "-1")]
    found = (path.name.removeprefix("nvidia") for path in Path("/dev").glob("nvidia[0-9]*"))
    return sorted(found, key=int)
