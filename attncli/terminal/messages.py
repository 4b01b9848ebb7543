"""Interface by which a job reports: remarks, problems and progress; the command passes `console`.

Nothing in jobs or tasks but the commands writes to stderr itself. Numbers and times in messages
are written here, too.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol


class ShowProgress(Protocol):
    """Function that shows the progress of a piece of work."""

    def __call__(self, done: float, note: str = "") -> None:
        """Show the amount done so far and a note."""


class Messages(Protocol):
    """Receiver of what a job reports. The module `console` is one; see its functions."""

    def say(self, text: str) -> None:
        """Report a remark."""

    def warn(self, text: str) -> None:
        """Report a problem."""

    def progress(
        self, label: str, *, total: float | None = None, shown: bool = True
    ) -> AbstractContextManager[ShowProgress]:
        """Show the progress of some work."""


class Silent:
    """Receiver that drops everything, for callers without a terminal."""

    def say(self, text: str) -> None:
        """Drop a remark."""

    def warn(self, text: str) -> None:
        """Drop a problem."""

    def progress(
        self, label: str, *, total: float | None = None, shown: bool = True
    ) -> AbstractContextManager[ShowProgress]:
        """Show nothing."""
        return nullcontext(lambda done, note="": None)


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 image", "2,000 images"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def duration(seconds: float) -> str:
    """Return a time as h:mm:ss."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
