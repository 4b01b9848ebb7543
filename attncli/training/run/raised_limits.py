"""Continuation of a finished run whose limits were raised: train.steps, epochs, minutes, patience.

The kept weights stay the best ones until an evaluation improves on them, also if they are the
average of several evaluations.
"""

from __future__ import annotations

from attncli.training.loop.fit import limit_reached
from attncli.training.settings.config import TrainConfig
from attncli.training.storage.counters import Counters, first_intact, read_counters
from attncli.training.storage.folder import RunFolder


def can_continue(folder: RunFolder, config: TrainConfig) -> bool:
    """Return True if a finished run has not reached the limits of these settings.

    A run without a checkpoint (`attn runs prune`) cannot continue.
    """
    counters, _ = first_intact(folder, read_counters)
    return counters is not None and not is_over(counters, config)


def is_over(counters: Counters, config: TrainConfig) -> bool:
    """Return True if a limit is reached, or training stops early."""
    stops_early = 0 < config.patience <= counters.waits
    return stops_early or bool(limit_reached(counters, config))


def reopen(counters: Counters, config: TrainConfig) -> None:
    """Let a finished run continue, unless it has reached its limits."""
    if not counters.ended or is_over(counters, config):
        return
    if counters.kept and counters.kept.score is not None and counters.kept.which != "best":
        counters.best, counters.best_loss = counters.kept.score, None
        counters.best_step = counters.kept.step
    counters.ended, counters.kept = "", None
