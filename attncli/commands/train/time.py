"""Estimates of a run as text: its time after the first updates, and the sizes of a dry run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attncli.terminal.plurals import counted, duration
from attncli.training.events import Stepped
from attncli.training.settings.config import TrainConfig

if TYPE_CHECKING:
    from attncli.training.run.estimate import Estimate

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
        updates = updates_left(
            self.config,
            per_epoch=timed / (passes - self.start),
            per_update=per_update,
            step=event.step,
            epochs=passes,
            elapsed=event.elapsed,
        )
        if not updates:
            return f"{per_update:.2g} s per update; early stopping ends the run"
        return (
            f"about {duration(updates * per_update)} left at most, without evaluations: "
            f"{counted(updates, 'update')} of {per_update:.2g} s"
        )


def updates_left(
    config: TrainConfig,
    *,
    per_epoch: float,
    per_update: float,
    step: int = 0,
    epochs: float = 0.0,
    elapsed: float = 0.0,
) -> int:
    """Return the number of updates until the first limit; 0 if only early stopping ends the run.

    per_epoch: updates of an epoch. per_update: seconds. step, epochs, elapsed: updates, passes over
    the data and seconds so far.
    """
    limits = []
    if config.steps:
        limits.append(config.steps - step)
    if config.epochs:
        limits.append(round((config.epochs - epochs) * per_epoch))
    if config.minutes:
        limits.append(max(1, round((60 * config.minutes - elapsed) / per_update)))
    return max(0, min(limits, default=0))


def described(found: Estimate) -> str:
    """Return the results of a dry run, one per line."""
    each = " per process" if found.processes > 1 else ""
    return "\n".join(
        [
            f"parameters        {found.parameters:,}",
            f"vocabulary        {found.vocabulary}",
            f"{found.unit:<18}{found.pairs:,} ({found.left_out:,} excluded)",
            f"an epoch          {found.batches:,} batches, {found.target_tokens:,} target tokens",
            f"estimated memory  {found.memory_bytes / 2**20:,.0f} MiB{each}",
        ]
    )
