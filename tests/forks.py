"""`attn` in a fork of the test process, which has imported torch already.

A fork starts in some milliseconds, where a new process needs seconds of a processor. It has a
process id, signals, streams and an exit status. tests/integration/test_pipe.py starts
new processes.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping
from typing import IO

from attncli.shell import app

BUG = 70  # exit status of a function that raises


def in_child(work: Callable[[], object]) -> int:
    """Call a function in a fork; return the number of the process.

    The fork ends with the status that the function returns or exits with.
    """
    child = os.fork()
    if child:
        return child
    gc.freeze()  # garbage of the parent may wait for threads that do not exist in the child
    atexit._clear()  # the parent's functions
    status = BUG
    try:
        found = work()
        status = found if isinstance(found, int) else 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def use_files(files: tuple[int, int, int]) -> None:
    """Make these files the stdin, stdout and stderr of this process."""
    for number, file in enumerate(files):
        os.dup2(file, number)
    sys.stdin = os.fdopen(0, "r")
    sys.stdout = os.fdopen(1, "w")
    sys.stderr = os.fdopen(2, "w")


class Program:
    """The command line in a fork, with the methods of `subprocess.Popen`; stdin is empty.

    stdout: a file to write to; without it, `communicate` returns what was written. changes:
    environment variables that the program has beside those of this process; None: not this one.
    """

    def __init__(
        self,
        arguments: list[str],
        *,
        stdout: int | None = None,
        changes: Mapping[str, str | None] | None = None,
    ) -> None:
        self.returncode: int | None = None
        reads, writes = zip(os.pipe(), os.pipe(), strict=True)
        output = writes[0] if stdout is None else stdout
        self.pid = in_child(lambda: self._run(arguments, (output, writes[1]), changes or {}))
        for end in writes:
            os.close(end)
        self.stdout: IO[str] = os.fdopen(reads[0])
        self.stderr: IO[str] = os.fdopen(reads[1])

    @staticmethod
    def _run(
        arguments: list[str], files: tuple[int, int], changes: Mapping[str, str | None]
    ) -> None:
        with open(os.devnull, "rb") as nothing:
            use_files((nothing.fileno(), *files))
        os.closerange(3, 256)  # the pipes of this program, and files of the test process
        for name, value in changes.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = ["attn", *arguments]
        app.main()

    def poll(self) -> int | None:
        """Return the exit status, or None while the program runs."""
        return self._wait(os.WNOHANG)

    def wait(self) -> int:
        """Return the exit status at the end of the program; of a signal, its negative number."""
        found = self._wait(0)
        assert found is not None
        return found

    def _wait(self, options: int) -> int | None:
        if self.returncode is None:
            found, status = os.waitpid(self.pid, options)
            if found:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, if the program still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End the program at once."""
        self.send_signal(signal.SIGKILL)

    def communicate(self) -> tuple[str, str]:
        """Return the rest of stdout and stderr at the end of the program.

        Nothing is read from stdout before the end of stderr, so stdout must fit a pipe.
        """
        with self.stderr, self.stdout:
            said = self.stderr.read()
            out = self.stdout.read()
        self.wait()
        return out, said
