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
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from itertools import islice
from pathlib import Path

from attncli.bulk import local_worker
from attncli.bulk.job import BulkJob, Part, Shard
from attncli.bulk.local_worker import read_frame, write_frame
from attncli.bulk.work import DEATHS, Parts, part_of
from models.base.errors import ResourceError
from models.base.process import processors

AHEAD = 4  # shards per worker whose parts are not written yet
VISIBLE = "CUDA_VISIBLE_DEVICES"


def process(job: BulkJob, shards: Iterator[Shard], processes: int) -> Parts:
    """Yield the part of each shard, in the order in which they are done."""
    size = processes or len(gpus(job.device)) or max(1, processors() // max(1, job.threads))
    workers = [_Worker(job, number) for number in range(size)]
    idle: queue.LifoQueue[_Worker] = queue.LifoQueue()
    for worker in workers:
        idle.put(worker)

    def part(shard: Shard) -> Part:
        worker = idle.get()
        try:
            return worker.process(shard)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(size)
    try:
        waiting = {pool.submit(part, shard) for shard in islice(shards, AHEAD * size)}
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            waiting |= {pool.submit(part, shard) for shard in islice(shards, len(done))}
            for answer in done:
                yield answer.result()
    finally:
        for worker in workers:
            worker.end()
        pool.shutdown(cancel_futures=True)


class _Worker:
    """A worker process. It starts with its first shard, and again if it dies."""

    def __init__(self, job: BulkJob, number: int) -> None:
        self._job, self._environment = job.to_json().encode(), _environment(job, number)
        self._process: subprocess.Popen[bytes] | None = None
        self._lock, self._ended = threading.Lock(), False

    def process(self, shard: Shard) -> Part:
        """Return the part of a shard; raise ResourceError if the process dies DEATHS times."""
        status = 0
        for _ in range(DEATHS):
            answer = self._answer(shard)
            if answer is not None:
                return part_of(answer)
            status = self._kill()
        reason = f"was killed by signal {-status}" if status < 0 else f"ended with {status}"
        raise ResourceError(
            f"{DEATHS} workers ended without a result for one shard ({shard.size} records from "
            f"record {shard.first} on); the last {reason}",
            "enough memory for each worker",
            "finished parts are kept; continue with fewer --processes or smaller --shard",
        )

    def end(self) -> None:
        """End the process at once; it does not start again."""
        with self._lock:
            self._ended = True
        self._kill()

    def _answer(self, shard: Shard) -> bytes | None:
        """Return the answer to a shard; None if the process ends before."""
        with self._lock:
            if self._ended:
                return None
            is_new = self._process is None
            process = self._process = self._process or self._start()
        assert process.stdin and process.stdout
        try:
            if is_new:
                write_frame(process.stdin, self._job)
            write_frame(process.stdin, shard.to_bytes())
            return read_frame(process.stdout)
        except (OSError, ValueError):  # a broken pipe, or a stream closed by `_kill`
            return None

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, str(Path(local_worker.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,  # Ctrl-C reaches only the process that supervises
        )

    def _kill(self) -> int:
        """End the process at once, and wait for its end; return its status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                stream and stream.close()
        return process.returncode


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
