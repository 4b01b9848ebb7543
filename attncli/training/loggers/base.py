"""The interface of an experiment tracker."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple, Protocol

NOT_SHOWN = ("step", "epoch", "progress", "seconds", "elapsed", "tokens")


class LoggedRun(NamedTuple):
    """Facts about a run that a tracker receives."""

    folder: Path
    step: int  # updates done before; later records of an interrupted run are written again
    settings: dict[str, Any]  # of the run, as nested tables


class Logger(Protocol):
    """A tracker, opened for a run as `Class(LoggedRun)`."""

    def write(self, event: str, record: dict[str, Any]) -> None:
        """Write a record of the log. event: train, dev, start, average."""

    def close(self) -> None:
        """End the run in the tracker, or this part of an interrupted run."""


def numbers(event: str, record: dict[str, Any]) -> dict[str, float]:
    """Return the measurements of a record by name, such as "dev/bleu"; none without an update."""
    if "step" not in record:
        return {}
    return {
        f"{event}/{name}": float(value)
        for name, value in record.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in NOT_SHOWN
    }
