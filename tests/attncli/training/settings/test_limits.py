"""The number of updates until the first limit of a run."""

from __future__ import annotations

from functools import partial

from attncli.training.settings.config import TrainConfig
from attncli.training.settings.limits import updates_left


def test_a_fresh_run_and_one_under_way_use_the_same_limits() -> None:
    left = partial(updates_left, per_epoch=50, per_update=2.0)
    config = TrainConfig(steps=200, epochs=3, minutes=4)
    assert left(config) == 4 * 60 / 2
    assert left(config, step=190, epochs=1.0, elapsed=10.0) == 200 - 190
    assert left(config, step=20, epochs=2.5, elapsed=10.0) == 25
    assert left(TrainConfig(epochs=0)) == 0, "only early stopping ends it"
    assert left(TrainConfig(epochs=0, minutes=0.001)) == 1
