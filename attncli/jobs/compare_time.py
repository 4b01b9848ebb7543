"""Time that a comparison takes: a few updates of every variant are timed, nothing is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from attncli.jobs.compare import Planned, same_data
from attncli.jobs.measure import Sets, measured
from attncli.training.config import RunConfig
from attncli.training.data import Prepared, Progress
from attncli.training.hardware import DTYPES
from attncli.training.precision import decided
from attncli.training.run import fresh_state
from attncli.training.sources import training_source
from attncli.training.timing import timing


class PlannedTime(NamedTuple):
    """Runs of one variant that are not measured yet, and their time."""

    variant: str
    parameters: int
    runs: int
    updates: int  # of a run at most; 0: only early stopping ends it
    per_update: float  # seconds

    @property
    def seconds(self) -> float:
        """Return the time of all runs at most, in seconds, without evaluations."""
        return self.runs * self.updates * self.per_update


def planned_times(
    runs: Sequence[Planned], sets: Sets, *, device: str, progress: Progress
) -> Iterator[PlannedTime]:
    """Yield the time of each variant with runs to train; their data are prepared only once."""
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as folder:
        known: list[tuple[RunConfig, Prepared]] = []
        for first in (run for run in runs if run.first):
            own = [run for run in runs if run.variant == first.variant]
            missing = [run for run in own if measured(run.folder, sets) is None]
            if not missing:
                continue
            config = first.config
            prepared = next((data for other, data in known if same_data(other, config)), None)
            if prepared is None:
                source = training_source(config.model.family)
                place = Path(folder, str(len(known)))
                place.mkdir()
                prepared = source.load(config, place, progress).prepared
                known.append((config, prepared))
            yield _timed(first.variant, len(missing), config, prepared, torch.device(device))


def _timed(
    name: str, runs: int, config: RunConfig, prepared: Prepared, device: torch.device
) -> PlannedTime:
    train = config.train
    state = fresh_state(config, prepared, device)
    dtype = DTYPES[decided(config, prepared, device).config.train.precision]
    found = timing(state, prepared, train, dtype)
    return PlannedTime(
        variant=name,
        parameters=state.model.parameter_count(),
        runs=runs,
        updates=found.updates,
        per_update=found.per_update,
    )
