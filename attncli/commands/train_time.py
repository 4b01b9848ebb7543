"""Estimate of the time that a run takes: after its first updates, and in a dry run."""

from __future__ import annotations

from attncli.render.duration import duration
from attncli.training.config import TrainConfig
from attncli.training.events import Stepped

UNTIMED = 3  # first updates, which are slower
ENOUGH = 10.0  # seconds of updates that are timed
MOST = 50  # updates that are timed


class FirstUpdates:
    """Times the first updates of a process, and estimates the time that is left."""

    def __init__(self, config: TrainConfig) -> None:
        self.config = config
        self.count, self.seconds = 0, 0.0
        self.start = 0.0  # passes over the data before the first update that is timed
        self.is_done = False

    def estimate(self, event: Stepped) -> str:
        """Count an update; return the estimate once, when enough updates are timed, else ""."""
        self.count += 1
        passes = event.epoch + event.progress
        if self.is_done or self.count <= UNTIMED:
            self.start = passes
            return ""
        self.seconds += event.seconds
        timed = self.count - UNTIMED
        if self.seconds < ENOUGH and timed < MOST:
            return ""
        self.is_done = True
        per_update = self.seconds / timed
        updates = updates_left(event, (passes - self.start) / timed, per_update, self.config)
        if not updates:
            return f"{per_update:.2g} s per update; early stopping ends the run"
        return (
            f"about {duration(updates * per_update)} left at most, without evaluations: "
            f"{updates:,} updates of {per_update:.2g} s"
        )


def updates_left(event: Stepped, passes: float, per_update: float, config: TrainConfig) -> int:
    """Return the number of updates until the first limit; 0 if only early stopping ends the run.

    passes: share of an epoch per update. per_update: its seconds.
    """
    limits = []
    if config.steps:
        limits.append(config.steps - event.step)
    if config.epochs:
        limits.append(round((config.epochs - event.epoch - event.progress) / passes))
    if config.minutes:
        limits.append(round((60 * config.minutes - event.elapsed) / per_update))
    return max(0, min(limits, default=0))
