"""The only writer to stderr: what the program has to say beside its results.

Results go to stdout and come from the commands. Rich is imported only when a bar is drawn, that
is, when stderr is a terminal; elsewhere progress is a plain line now and then. Nothing but the
bar is coloured, and Rich leaves that out where ``NO_COLOR`` is set.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from models.errors import ModelError


def say(text: str) -> None:
    """One line of conversation."""
    if sys.stderr is not None:
        print(" ".join(text.splitlines()), file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Something the user should know, under the program's name."""
    say(f"attn: {text}")


def fail(error: ModelError) -> None:
    """A user's mistake as one line. The caller chooses the exit status."""
    warn(str(error))


def prompt(text: str) -> None:
    """Ask for input, without ending the line."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def is_terminal() -> bool:
    """Whether a person watches stderr on a terminal that can redraw a line."""
    watched = sys.stderr is not None and sys.stderr.isatty()
    return watched and os.environ.get("TERM") != "dumb"


class Advance(Protocol):
    """Tells a progress display how far the work is."""

    def __call__(self, done: float, note: str = "") -> None:
        """Show the amount done so far and a note."""


@contextmanager
def progress(
    label: str, *, total: float | None = None, interval: float = 10.0
) -> Iterator[Advance]:
    """Show how far the work is: a bar on a terminal, else a line every ``interval`` seconds.

    Yields a function of the amount done so far, in the unit of ``total`` (None: not known), and
    of a note shown beside it. No more than one may be shown at a time.
    """
    display = _bar(label, total) if is_terminal() else _lines(label, total, interval)
    with display as advance:
        yield advance


@contextmanager
def _bar(label: str, total: float | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn() if total else TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False) as bar:
        task = bar.add_task(label, total=total, note="")

        def advance(done: float, note: str = "") -> None:
            bar.update(task, completed=done, note=note)

        yield advance


@contextmanager
def _lines(label: str, total: float | None, interval: float) -> Iterator[Advance]:
    last_time, last_line, current = time.monotonic(), "", ""

    def advance(done: float, note: str = "") -> None:
        nonlocal last_time, last_line, current
        share = f" {min(100 * done / total, 100):.0f} %" if total else ""
        current = f"{label}{share}{'  ' if note else ''}{note}"
        if time.monotonic() - last_time >= interval:
            say(current)
            last_time, last_line = time.monotonic(), current

    yield advance
    if current and current != last_line:
        say(current)
