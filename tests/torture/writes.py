"""Kills and full disks at every system call that changes a file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from models.core.errors import ModelError
from tests.torture.worker import KILLED, Result, Workers

CALLS = ("open", "fsync", "replace", "link", "truncate", "ftruncate", "mkdir", "unlink", "write")


def fail_at(number: int, how: str) -> Callable[[], int]:
    """Let the call of this number (from 1) of `CALLS` kill the process, or find a full disk.

    Return a function that gives the number of calls so far.
    """
    done = 0

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def instead(*args: Any, **kwargs: Any) -> Any:
            nonlocal done
            done += 1
            if done == number:
                if how == "kill":
                    os._exit(KILLED)
                raise OSError(errno.ENOSPC, "No space left on device")
            return call(*args, **kwargs)

        return instead

    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))
    return lambda: done


def count_calls(work: Callable[[], None], workers: Workers) -> int:
    """Return how many calls of `CALLS` the work makes."""
    counted = workers.log.with_suffix(".count")

    def run() -> None:
        calls, store = fail_at(0, "kill"), Path.write_text
        work()
        found = calls()
        store(counted, str(found))

    fault = workers.attempt(run)
    assert not fault, fault
    return int(counted.read_text())


class Job(NamedTuple):
    """Work that writes files."""

    name: str
    prepare: Callable[[], None]  # makes the files as they are before the work
    work: Callable[[], None]
    check: Callable[[], str]  # returns the fault of what the work left


def attack(job: Job, workers: Workers, random: Random, most: int) -> Iterator[Result]:
    """Interrupt the work at its calls (``most`` of them, at random)."""
    job.prepare()
    total = count_calls(job.work, workers)
    for how in ("kill", "full"):
        result = Result(f"{job.name}, {'killed' if how == 'kill' else 'disk full'}")
        for number in sorted(random.sample(range(1, total + 1), min(most, total))):
            job.prepare()

            def run(number: int = number, how: str = how) -> None:
                fail_at(number, how)
                with contextlib.suppress(ModelError):
                    job.work()

            result.add(f"call {number} of {total}", workers.attempt(run) or job.check())
        yield result
