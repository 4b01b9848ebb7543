"""Worker processes on this machine.

A thread supervises each process: it sends a shard and waits for the part. A process that dies is
started again with the same shard. After DEATHS on one shard the job stops, because the shard itself
may need more memory than there is; its finished parts stay.
"""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attncli.bulk.engines import DEATHS, Parts, local_worker
from attncli.bulk.engines.answers import part_of
from attncli.bulk.engines.gpus import VISIBLE, gpus
from attncli.bulk.engines.local_worker import read_frame, write_frame
from attncli.bulk.plan.job import BulkJob
from attncli.bulk.plan.shards import Part, Shard, shard_to_bytes
from models.base.errors import ResourceError
from models.base.processors import processors

WAITING = 4  # parts per worker that may wait to be written


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the part of each shard, in the order in which they are done; see BulkEngine."""
    count = processes or len(gpus(job.device)) or max(1, processors() // max(1, job.threads))
    group = _Group(job, shards, count)
    try:
        yield from group.parts()
    finally:
        group.end()


class WorkerDied(Exception):
    """A worker process that ended before its answer."""


class _Group:
    """Threads that supervise one process each."""

    def __init__(self, job: BulkJob, shards: Iterator[Shard], count: int) -> None:
        self.job, self.count = job, count
        self._shards, self._lock = shards, threading.Lock()
        self._ended = threading.Event()
        self._answers: queue.Queue[Part | BaseException | None] = queue.Queue(WAITING * count)
        self._workers: set[_Worker] = set()

    def parts(self) -> Iterator[Part]:
        """Yield parts until all threads are done; raise the first exception of any of them."""
        for number in range(self.count):
            threading.Thread(target=self._supervise, args=(number,), daemon=True).start()
        running = self.count
        while running:
            answer = self._answers.get()
            if isinstance(answer, BaseException):
                raise answer
            if answer is None:
                running -= 1
            else:
                yield answer

    def end(self) -> None:
        """End all processes."""
        with self._lock:
            self._ended.set()
            for worker in self._workers:
                worker.kill()

    def _supervise(self, number: int) -> None:
        worker = None
        try:
            while (shard := self._next_shard()) is not None:
                worker, part = self._processed(shard, worker, number)
                self._put(part)
            self._put(None)
        except BaseException as error:
            self._put(error)
        finally:
            if worker:
                worker.kill()

    def _next_shard(self) -> Shard | None:
        with self._lock:
            return None if self._ended.is_set() else next(self._shards, None)

    def _put(self, answer: Part | BaseException | None) -> None:
        """Wait until there is room for an answer, or until nobody reads answers any more."""
        while not self._ended.is_set():
            with contextlib.suppress(queue.Full):
                self._answers.put(answer, timeout=1)
                return

    def _processed(self, shard: Shard, worker: _Worker | None, number: int) -> tuple[_Worker, Part]:
        """Return the part of a shard, and the worker that made it: a new one if others died."""
        for _ in range(DEATHS):
            worker = worker or self._start(number)
            try:
                return worker, worker.process(shard)
            except WorkerDied as death:
                last, worker = death, None
        raise ResourceError(
            f"{DEATHS} workers ended without a result for one shard ({shard.size} records from "
            f"record {shard.first} on); the last {last}",
            "enough memory for each worker",
            "finished parts are kept; continue with fewer --processes or smaller --shard",
        )

    def _start(self, number: int) -> _Worker:
        with self._lock:
            if self._ended.is_set():
                raise WorkerDied("was ended")
            worker = _Worker(self.job, number)
            self._workers.add(worker)
            return worker


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
            raise WorkerDied(_reason(self._process.wait()))
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
            write_frame(send, shard_to_bytes(shard))
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


def _reason(status: int) -> str:
    return f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
