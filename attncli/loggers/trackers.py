"""Experiment trackers of other programs, which listen to the log of a run.

The name of one, in train.loggers, is that of its package and of an extra of attn.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from hashlib import sha256
from importlib.util import find_spec

from attncli.train.events import LoggedRun
from models.core.errors import ModelError, install_command
from models.core.settings import flat

EXPERIMENT = "attn"  # of MLflow, and the project of Weights & Biases
FOLDER = "attn.folder"  # tag by which the run of a folder is found again
LETTERS = 500  # of a parameter's value, which every store accepts
AT_ONCE = 100  # parameters that every store accepts in one request
NOT_SHOWN = ("step", "epoch", "progress", "seconds", "elapsed", "tokens")


def numbers(event: str, record: Mapping[str, object]) -> dict[str, float]:
    """Return the measurements of a record by name, such as "dev/bleu"; none without an update."""
    if "step" not in record:
        return {}
    return {
        f"{event}/{name}": float(value)
        for name, value in record.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool) and name not in NOT_SHOWN
    }


class Tracker:
    """A tracker whose package may be missing."""

    @classmethod
    def check(cls, package: str) -> None:
        """Raise ModelError if the package of the tracker is not installed; import nothing."""
        if find_spec(package) is None:
            raise ModelError(
                f"train.loggers={package} without its package",
                package,
                f"{install_command(package)}, or leave out train.loggers",
            )


class MlflowLogger(Tracker):
    """A run of MLflow in mlflow.db of the run folder, or where MLFLOW_TRACKING_URI says.

    `mlflow ui --backend-store-uri sqlite:///RUN/mlflow.db` shows it. MLFLOW_EXPERIMENT_NAME chooses
    the experiment.
    """

    def __init__(self, run: LoggedRun) -> None:
        """Start a run, or continue the one that this run folder was logged to before."""
        from mlflow import MlflowClient
        from mlflow.entities import Param

        folder = run.folder.resolve()
        own = str(folder).replace("'", "_")  # which a filter of MLflow cannot contain
        store = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder / 'mlflow.db'}"
        self.client = MlflowClient(store)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        known = self.client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self.client.create_experiment(name)
        earlier = self.client.search_runs([experiment], f"tags.`{FOLDER}` = '{own}'")
        if earlier:
            self.id = earlier[0].info.run_id
            self.client.set_terminated(self.id, "RUNNING")
        else:
            tags = {FOLDER: own}
            self.id = self.client.create_run(
                experiment, run_name=folder.name, tags=tags
            ).info.run_id
            values = [Param(n, str(value)[:LETTERS]) for n, value in flat(run.settings).items()]
            for start in range(0, len(values), AT_ONCE):
                self.client.log_batch(self.id, params=values[start : start + AT_ONCE])

    def write(self, event: str, record: Mapping[str, object]) -> None:
        """Write the numbers of a record that belongs to an update."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        found = numbers(event, record).items()
        metrics = [Metric(name, value, now, record["step"]) for name, value in found]
        if metrics:
            self.client.log_batch(self.id, metrics)

    def close(self) -> None:
        """End the run."""
        self.client.set_terminated(self.id)


class TensorBoardLogger(Tracker):
    """Event files of TensorBoard in tensorboard/ of the run folder."""

    def __init__(self, run: LoggedRun) -> None:
        """Continue after the run's update; later records of an interrupted run are hidden."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer = SummaryWriter(str(run.folder / "tensorboard"), purge_step=run.step + 1)

    def write(self, event: str, record: Mapping[str, object]) -> None:
        """Write the numbers of a record that belongs to an update."""
        for name, value in numbers(event, record).items():
            self.writer.add_scalar(name, value, record["step"])
        self.writer.flush()

    def close(self) -> None:
        """Close the event files."""
        self.writer.close()


class WandbLogger(Tracker):
    """A run of Weights & Biases: offline files in wandb/ of the run folder, for `wandb sync`.

    WANDB_MODE=online uploads while the run trains. WANDB_PROJECT and WANDB_ENTITY choose the
    project, as in every program that uses wandb.
    """

    def __init__(self, run: LoggedRun) -> None:
        """Start the run, or continue it: its id is derived from the run folder."""
        import wandb

        self.run = wandb.init(
            project=os.environ.get("WANDB_PROJECT", EXPERIMENT),
            name=run.folder.name,
            id=sha256(str(run.folder.resolve()).encode()).hexdigest()[:16],
            resume="allow",
            dir=str(run.folder),
            mode=os.environ.get("WANDB_MODE", "offline"),
            config=run.settings,
            settings=wandb.Settings(silent=True, console="off"),
        )

    def write(self, event: str, record: Mapping[str, object]) -> None:
        """Write the numbers of a record that belongs to an update."""
        if found := numbers(event, record):
            self.run.log(found, step=record["step"])

    def close(self) -> None:
        """Finish the run."""
        self.run.finish()
