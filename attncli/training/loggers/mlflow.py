"""MLflow: a run in mlflow.db of the run folder, or where MLFLOW_TRACKING_URI says.

`mlflow ui --backend-store-uri sqlite:///RUN/mlflow.db` shows it. MLFLOW_EXPERIMENT_NAME chooses
the experiment.
"""

from __future__ import annotations

import os
import time
from typing import Any

from attncli.training.loggers import LoggedRun, numbers
from models.base.settings import flat

EXPERIMENT = "attn"
FOLDER = "attn.folder"  # tag by which the run of a folder is found again
LETTERS = 500  # of a parameter's value, which every store accepts
AT_ONCE = 100  # parameters that every store accepts in one request


class MlflowLogger:
    """A run of MLflow."""

    def __init__(self, run: LoggedRun) -> None:
        """Start a run, or continue the one that this run folder was logged to before."""
        from mlflow import MlflowClient

        folder = run.folder.resolve()
        store = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{folder / 'mlflow.db'}"
        self.client = MlflowClient(store)
        name = os.environ.get("MLFLOW_EXPERIMENT_NAME", EXPERIMENT)
        known = self.client.get_experiment_by_name(name)
        experiment = known.experiment_id if known else self.client.create_experiment(name)
        earlier = self.client.search_runs([experiment], f"tags.`{FOLDER}` = '{_quoted(folder)}'")
        if earlier:
            self.id = earlier[0].info.run_id
            self.client.set_terminated(self.id, "RUNNING")
        else:
            tags = {FOLDER: _quoted(folder)}
            self.id = self.client.create_run(
                experiment, run_name=folder.name, tags=tags
            ).info.run_id
            self._write_settings(run.settings)

    def _write_settings(self, settings: dict[str, Any]) -> None:
        from mlflow.entities import Param

        found = [Param(name, str(value)[:LETTERS]) for name, value in flat(settings).items()]
        for start in range(0, len(found), AT_ONCE):
            self.client.log_batch(self.id, params=found[start : start + AT_ONCE])

    def write(self, event: str, record: dict[str, Any]) -> None:
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


def _quoted(folder: object) -> str:
    """Return a path without quotes, which a filter of MLflow cannot contain."""
    return str(folder).replace("'", "_")
