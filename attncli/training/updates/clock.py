"""Training time, for train.minutes: counted over all processes of a run, stored in the checkpoint.

It runs from the first update, and includes evaluations and checkpoints. It excludes the preparation
of the data and the time between an interruption and its continuation.
"""

from __future__ import annotations

import time

from attncli.training.settings.config import TrainConfig
from attncli.training.storage.counters import Counters

MINUTE = 60  # seconds


class Clock:
    """Adds the time that passes in this process to the counters of a run."""

    def __init__(self, counters: Counters) -> None:
        self.counters, self.last = counters, time.monotonic()

    def read(self) -> None:
        """Add the time since the last call to `counters.elapsed`."""
        now = time.monotonic()
        self.counters.elapsed, self.last = self.counters.elapsed + now - self.last, now


def time_share(elapsed: float, config: TrainConfig) -> float:
    """Return the share of train.minutes that has elapsed, up to 1; 0 without that limit."""
    return min(1.0, elapsed / (MINUTE * config.minutes)) if config.minutes else 0.0
