"""The only writer to stderr: messages and progress. Results go to stdout, written by the commands.

Rich is imported only to draw a bar, which needs a terminal; elsewhere progress is a plain line
every few seconds. Only the bar is coloured, and not where ``NO_COLOR`` is set.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from attncli.terminal.messages import ShowProgress, printable

INTERVAL = 10.0  # seconds between two lines of progress

_quiet = False  # True with --quiet


def be_quiet(wanted: bool = True) -> None:
    """Suppress remarks and progress of this process (--quiet); problems are still reported."""
    global _quiet
    _quiet = wanted


def say(text: str) -> None:
    """Write one remark, unless --quiet is given. See `line`."""
    if not _quiet:
        line(text)


def line(text: str) -> None:
    """Write one line. Control characters, which names of files may contain, are escaped."""
    if sys.stderr is not None:
        print(printable(" ".join(text.splitlines())), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Write one line that begins with the name of the program; --quiet does not suppress it."""
    line(f"attn: {text}")


def prompt(text: str) -> None:
    """Write a request for input, without a line end."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def is_terminal() -> bool:
    """Return True if stderr is a terminal that can redraw a line."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return watched and os.environ.get("TERM") != "dumb"


def drop_undeliverable() -> None:
    """Make stderr drop messages that cannot be delivered, so that the work continues without them.

    Also reserve the file numbers of closed standard streams. Otherwise the next opened file could
    get number 2, and a library's messages to stderr would be written into it.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number: this one
    if sys.stderr is not None:
        sys.stderr = LossyStream(sys.stderr)


class LossyStream:
    """A text stream that drops what cannot be written: its reader has gone or its disk is full."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write the text, or drop it."""
        with self._dropping():
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Deliver what has been written, or drop it."""
        with self._dropping():
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    @contextmanager
    def _dropping(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if error.errno != errno.ENOSPC:  # nobody will read this stream again
                with suppress(OSError), open(os.devnull, "wb") as nowhere:
                    os.dup2(nowhere.fileno(), self._stream.fileno())
        except ValueError:  # the stream was closed
            pass


@contextmanager
def progress(
    label: str, *, total: float | None = None, shown: bool = True
) -> Iterator[ShowProgress]:
    """Show the progress of some work: a bar on a terminal, else a line every INTERVAL seconds.

    Yield a function of the amount done so far, in the unit of ``total`` (None: not known), and of
    a note to show. Only one may be active at a time. A block that ends without an exception ends at
    100 %, also if the last amount was not shown or the work was shorter than expected. shown: False
    shows nothing, as --quiet does.
    """
    if _quiet or not shown:
        yield lambda done, note="": None
        return
    display = _bar(label, total) if is_terminal() else _lines(label, total)
    with display as advance:
        yield advance


@contextmanager
def _bar(label: str, total: float | None) -> Iterator[ShowProgress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn() if total else TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with RichProgress(*columns, console=Console(stderr=True), redirect_stdout=False) as bar:
        task = bar.add_task(printable(label), total=total, note="")

        def advance(done: float, note: str = "") -> None:
            bar.update(task, completed=done, note=printable(note))

        yield advance
        if total:
            bar.update(task, completed=total)


@contextmanager
def _lines(label: str, total: float | None) -> Iterator[ShowProgress]:
    said_at, said, at_end = time.monotonic(), "", ""
    begun: tuple[float, float] | None = None  # time and amount at the first call

    def text(done: float, note: str) -> str:
        share = f" {min(100 * done / total, 100):.0f} %" if total else ""
        return f"{label}{share}{left(done)}{'  ' if note else ''}{note}"

    def left(done: float) -> str:
        """Return the time left, by the speed since the first call."""
        now, (began, before) = time.monotonic(), begun or (0.0, done)
        if not total or done >= total or done <= before or now - began < INTERVAL / 2:
            return ""
        minutes = (total - done) * (now - began) / (done - before) / 60
        return f", {minutes:.0f} min left" if minutes >= 1 else ", under 1 min left"

    def advance(done: float, note: str = "") -> None:
        nonlocal said_at, said, at_end, begun
        begun = begun or (time.monotonic(), done)
        at_end = text(total or done, note)
        if time.monotonic() - said_at >= INTERVAL:
            said_at, said = time.monotonic(), text(done, note)
            say(said)

    yield advance
    if at_end != said:
        say(at_end)
