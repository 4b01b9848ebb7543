"""The estimate of the time that is left, after the first updates."""

from __future__ import annotations

from functools import partial

from attncli.commands.train.time import MOST, UNTIMED, FirstUpdates, updates_left
from attncli.training.events import Stepped
from attncli.training.settings.config import TrainConfig


def estimates(config: TrainConfig, seconds: float = 0.1) -> list[str]:
    """Return what is printed in an epoch of 100 updates."""
    first = FirstUpdates(config)
    updates = [
        Stepped(n, 0, n / 100, 1.0, 1.0, 0.1, 1.0, None, 50, seconds, n * seconds)
        for n in range(1, 101)
    ]
    return [text for update in updates if (text := first.estimate(update))]


def test_the_first_limit_decides() -> None:
    done = UNTIMED + MOST
    (by_steps,) = estimates(TrainConfig(steps=1000, epochs=100))
    assert f"{1000 - done:,} updates of 0.1 s" in by_steps and "about 0:01:35 left" in by_steps
    (by_epochs,) = estimates(TrainConfig(epochs=2))
    assert f"{200 - done:,} updates" in by_epochs
    (by_time,) = estimates(TrainConfig(minutes=1, epochs=0))
    assert f"{600 - done:,} updates" in by_time
    (open_end,) = estimates(TrainConfig(epochs=0))
    assert open_end == "0.1 s per update; early stopping ends the run"


def test_slow_updates_are_timed_less_often() -> None:
    (found,) = estimates(TrainConfig(epochs=1), seconds=4)
    assert "94 updates of 4 s" in found  # 3 that are not timed, 3 that are


def test_a_fresh_run_and_one_under_way_use_the_same_limits() -> None:
    left = partial(updates_left, per_epoch=50, per_update=2.0)
    config = TrainConfig(steps=200, epochs=3, minutes=4)
    assert left(config) == 4 * 60 / 2
    assert left(config, step=190, epochs=1.0, elapsed=10.0) == 200 - 190
    assert left(config, step=20, epochs=2.5, elapsed=10.0) == 25
    assert left(TrainConfig(epochs=0)) == 0, "only early stopping ends it"
    assert left(TrainConfig(epochs=0, minutes=0.001)) == 1
