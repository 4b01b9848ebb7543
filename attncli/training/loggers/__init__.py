"""Experiment trackers that receive a run's log beside log.jsonl, one file per tracker.

Each is registered in LOGGERS. Nothing here imports a tracker before a run opens it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from typing import NamedTuple

from attncli.training.loggers.base import LoggedRun, Logger
from models.base.errors import ModelError
from models.base.places import imported


class LoggerEntry(NamedTuple):
    """A tracker: its class, and the package that it needs."""

    place: str  # module:Class
    package: str  # as imported
    title: str


LOGGERS = {  # value of train.loggers, and name of the extra
    "tensorboard": LoggerEntry(
        "attncli.training.loggers.tensorboard:TensorBoardLogger", "tensorboard", "TensorBoard"
    ),
    "wandb": LoggerEntry("attncli.training.loggers.wandb:WandbLogger", "wandb", "Weights & Biases"),
    "mlflow": LoggerEntry("attncli.training.loggers.mlflow:MlflowLogger", "mlflow", "MLflow"),
}


def check_loggers(names: Iterable[str]) -> None:
    """Raise ModelError if the package of a tracker is not installed; nothing is imported."""
    for name in names:
        entry = LOGGERS[name]
        if find_spec(entry.package) is None:
            raise ModelError(
                f"train.loggers names {name}, and {entry.title} is not installed",
                f"the package {entry.package}",
                f"pip install 'attn[{name}]', or leave out train.loggers",
            )


def open_loggers(names: Iterable[str], run: LoggedRun) -> list[Logger]:
    """Open the trackers of a run; see `check_loggers` for errors."""
    names = list(names)
    check_loggers(names)
    return [imported(LOGGERS[name].place)(run) for name in names]
