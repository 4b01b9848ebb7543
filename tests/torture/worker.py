"""Forked workers with limits on memory and time; the result of an attack."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

MEMORY = 3 << 30  # bytes that a worker may allocate beyond what it begins with
SECONDS = 60  # of processor time that a worker may take
WAIT = 600  # seconds until a worker that waits is ended; more, because the machine may be busy
KILLED = 137  # exit status of a worker that an attack ended on purpose


@dataclass
class Result:
    """Cases of one attack.

    peak: the most memory that one of its workers used, in bytes.
    """

    attack: str
    tried: int = 0
    failed: list[str] = field(default_factory=list)  # a description of each failed case
    peak: int = 0

    def add(self, case: str, fault: str, cases: int = 1) -> None:
        """Count cases that were tried together; an empty fault is a success."""
        self.tried += cases
        if fault:
            self.failed.append(f"{self.attack}, {case}: {fault}")


@dataclass
class Workers:
    """Forked processes, one after the other. Their output goes to the file ``log``.

    peak: the most memory that one of them used, in bytes, with what it shares with its parent.
    """

    log: Path
    peak: int = 0

    def attempt(self, work: Callable[[], None]) -> str:
        """Run a function in a forked process with limits. Return its fault, empty if none.

        A fault is an exception, a crash, or too much memory or time. A worker that ends itself
        with status `KILLED` has no fault.
        """
        child = os.fork()
        if not child:
            os._exit(_guarded(work, self.log))
        _, status, usage = os.wait4(child, 0)
        self.peak = max(self.peak, usage.ru_maxrss * 1024)
        code = os.waitstatus_to_exitcode(status)
        if code in (0, KILLED):
            return ""
        said = self.log.read_text("utf-8", "replace").strip().splitlines()[-1:] or [""]
        reason = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        return f"{reason}: {said[0]}"


def _guarded(work: Callable[[], None], log: Path) -> int:
    try:
        output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 2)
        sys.stderr = sys.__stderr__  # not what pytest put in its place
        faulthandler.disable()  # pytest's, which writes to the log of the tests
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, size + MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
        signal.alarm(WAIT)
        work()
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        return 1
    return 0
