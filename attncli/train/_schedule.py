"""Learning rates: linear warm-up, then inverse square root, plateau, constant or linear."""

from __future__ import annotations

from attncli.training.config import TrainConfig

PLATEAU_FACTOR = 0.5  # by which the plateau schedule reduces the rate
WARM_SHARE = 0.1  # of the run: longest warm-up of the linear schedule in a timed or short run


def learning_rate(step: int, cuts: int, config: TrainConfig, done: float = 0.0) -> float:
    """Return the learning rate of update `step`, from 1.

    cuts: how often the plateau schedule has reduced the rate. done: share of train.minutes
    or train.epochs that is done; see `done_share`.

    inverse_sqrt: lr * min(step / warmup, sqrt(warmup / step))   Vaswani et al. 2017, eq. 3
    linear:       lr * (steps + 1 - step) / (steps + 1 - warmup), after the warm-up; a run that is
                  not longer than train.warmup warms up for a tenth of it
    """
    if config.schedule == "linear" and (config.minutes or not config.steps):
        return linear_in_time(step, config, done)
    warm = max(1, warm_up(config))
    if step < warm:
        return config.lr * step / warm
    if config.schedule == "inverse_sqrt":
        return float(config.lr * (warm / step) ** 0.5)
    if config.schedule == "linear":
        # + 1, so that the last update still has a rate above 0
        return config.lr * max(0, config.steps - step + 1) / max(1, config.steps - warm + 1)
    return float(config.lr * PLATEAU_FACTOR**cuts)


def warm_up(config: TrainConfig) -> int:
    """Return the updates of the warm-up of a run that no time limit ends."""
    # or the rate would never reach train.lr
    if config.schedule == "linear" and 0 < config.steps <= config.warmup and not config.minutes:
        return int(WARM_SHARE * config.steps)
    return config.warmup


def linear_in_time(step: int, config: TrainConfig, share: float) -> float:
    """Return the rate that falls to 0 as the run ends, by train.minutes, steps or epochs.

    lr * (1 - share) * min(1, max(step / warmup, share / 0.1)), share = max(done, steps)
    The warm-up ends after a tenth of the run at the latest, because a slow machine may not reach
    train.warmup updates.
    """
    if config.steps:
        share = max(share, (step - 1) / config.steps)
    # by time too: a slow machine may not reach train.warmup updates at all
    warm = min(1.0, max(step / max(1, config.warmup), share / WARM_SHARE))
    return config.lr * max(0.0, 1 - share) * warm


def done_share(elapsed: float, epochs: float, config: TrainConfig) -> float:
    """Return the share of train.minutes or of train.epochs that is done, the larger one.

    epochs: passes over the data that are done.
    """
    passed = min(1.0, epochs / config.epochs) if config.epochs else 0.0
    return max(passed, time_share(elapsed, config))


def time_share(elapsed: float, config: TrainConfig) -> float:
    """Return the share of train.minutes that has elapsed, up to 1; 0 without that limit.

    elapsed: `Counters.elapsed`, in seconds.
    """
    return min(1.0, elapsed / (60 * config.minutes)) if config.minutes else 0.0
