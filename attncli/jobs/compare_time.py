"""Time that a comparison takes: a few updates of every variant are timed, nothing is kept."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch

from attncli.jobs.compare import Planned, missing
from attncli.jobs.compared import compared_source
from attncli.jobs.compared.base import Sets
from attncli.training.interfaces import Prepared, Progress
from attncli.training.run.run import fresh_state
from attncli.training.run.timing import timing
from attncli.training.settings.config import RunConfig
from attncli.training.settings.precision import decided
from attncli.training.sources import training_source
from attncli.training.updates.hardware import DTYPES


class PlannedTime(NamedTuple):
    """Runs of one variant that are not measured yet, and their time."""

    variant: str
    parameters: int
    runs: int  # without those that the choice of the best may add
    further: int  # runs that are added if the variant is among the best
    updates: int  # of a run at most; 0: only early stopping ends it
    per_update: float  # seconds

    @property
    def per_run(self) -> float:
        """Return the time of a run at most, in seconds, without evaluations."""
        return self.updates * self.per_update


def total_seconds(times: Sequence[PlannedTime], best: int) -> float:
    """Return the time of all runs at most: the slowest variants could be the best."""
    further = sorted((time.further * time.per_run for time in times), reverse=True)
    return sum(time.runs * time.per_run for time in times) + sum(further[:best])


def planned_times(
    runs: Sequence[Planned], sets: Sets, *, best: int, device: str, progress: Progress
) -> Iterator[PlannedTime]:
    """Yield the time of each variant with runs to train; their data are prepared only once.

    best: number of variants that are trained with further seeds; 0: all.
    """
    left = missing(runs, sets, best)
    undecided = best > 0 and any(run.first for run in left)
    with tempfile.TemporaryDirectory(prefix="attn-dry-run-") as folder:
        known: dict[Hashable, Prepared] = {}
        for first in (run for run in runs if run.first):
            own = [run for run in left if run.variant == first.variant]
            if not own:
                continue
            config = first.config
            key = compared_source(config.model.family).examples_key(config)
            if key not in known:
                place = Path(folder, str(len(known)))
                place.mkdir()
                source = training_source(config.model.family)
                known[key] = source.load(config, place, progress).prepared
            further = sum(not run.first for run in own) if undecided else 0
            counts = len(own) - further, further
            yield _timed(first.variant, counts, config, known[key], torch.device(device))


def _timed(
    name: str,
    runs: tuple[int, int],
    config: RunConfig,
    prepared: Prepared,
    device: torch.device,
) -> PlannedTime:
    """Return the time of a variant. runs: see `PlannedTime`, certain and further ones."""
    train = config.train
    state = fresh_state(config, prepared, device)
    dtype = DTYPES[decided(config, prepared, device).config.train.precision]
    found = timing(state, prepared, train, dtype)
    return PlannedTime(
        variant=name,
        parameters=state.model.parameter_count(),
        runs=runs[0],
        further=runs[1],
        updates=found.updates,
        per_update=found.per_update,
    )
