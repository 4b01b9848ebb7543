"""Processor time and peak memory of a process with its children."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Measured(NamedTuple):
    """One run of a command."""

    seconds: float  # user and system time, children included
    peak: int  # highest resident memory of one process, in bytes
    output: bytes  # standard output
    wall: float = 0.0  # seconds by the clock on the wall


def measure(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    *,
    folder: Path | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> Measured:
    """Run a command; raise RuntimeError if it fails. stdout: file for a long output."""
    begun = time.perf_counter()
    with (
        open(stdin or os.devnull, "rb") as source,
        open(stdout or os.devnull, "wb") as target,
        subprocess.Popen(
            command,
            env=environment,
            cwd=folder,
            stdin=source,
            stdout=target if stdout else subprocess.PIPE,
        ) as process,
    ):
        output = process.stdout.read() if process.stdout else b""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit status {process.returncode} of {' '.join(command)}")
    wall = time.perf_counter() - begun
    return Measured(used.ru_utime + used.ru_stime, used.ru_maxrss * 1024, output, wall)
