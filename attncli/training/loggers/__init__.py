"""Experiment trackers that receive a run's log beside log.jsonl, one file per tracker.

Each is registered in LOGGERS. Nothing here imports a tracker before a run opens it.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib.util import find_spec
from pkgutil import resolve_name

from attncli.training.loggers.base import LoggedRun, Logger
from models.base.errors import ModelError

LOGGERS = {  # module:Class by value of train.loggers, which is the name of package and extra too
    "tensorboard": "attncli.training.loggers.tensorboard:TensorBoardLogger",
    "wandb": "attncli.training.loggers.wandb:WandbLogger",
    "mlflow": "attncli.training.loggers.mlflow:MlflowLogger",
}


def check_loggers(names: Iterable[str]) -> None:
    """Raise ModelError if the package of a tracker is not installed; nothing is imported."""
    for name in names:
        if find_spec(name) is None:
            raise ModelError(
                f"train.loggers={name} without its package",
                name,
                f"pip install 'attn[{name}]', or leave out train.loggers",
            )


def open_loggers(names: Iterable[str], run: LoggedRun) -> list[Logger]:
    """Open the trackers of a run, each once."""
    return [resolve_name(LOGGERS[name])(run) for name in dict.fromkeys(names)]
