"""Number of updates until the first limit of a run. Imports no torch."""

from __future__ import annotations

from attncli.training.settings.config import TrainConfig


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
