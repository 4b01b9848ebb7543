"""Experiment trackers that receive a run's log beside log.jsonl, one file per tracker.

Each is registered in LOGGERS. Nothing here imports a tracker before a run opens it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from models.base.errors import ModelError
from models.base.extras import install_command

LOGGERS = {  # module:Class by value of train.loggers, which is the name of package and extra too
    "tensorboard": "attncli.training.loggers.tensorboard:TensorBoardLogger",
    "wandb": "attncli.training.loggers.wandb:WandbLogger",
    "mlflow": "attncli.training.loggers.mlflow:MlflowLogger",
}
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


def check_loggers(names: Iterable[str]) -> None:
    """Raise ModelError if the package of a tracker is not installed; nothing is imported."""
    for name in names:
        if find_spec(name) is None:
            raise ModelError(
                f"train.loggers={name} without its package",
                name,
                f"{install_command(name)}, or leave out train.loggers",
            )


def numbers(event: str, record: dict[str, Any]) -> dict[str, float]:
    """Return the measurements of a record by name, such as "dev/bleu"; none without an update."""
    if "step" not in record:
        return {}
    return {
        f"{event}/{name}": float(value)
        for name, value in record.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in NOT_SHOWN
    }
