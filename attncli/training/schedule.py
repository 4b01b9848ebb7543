"""Learning rates: linear warm-up, then inverse square root, plateau, constant or linear."""

from __future__ import annotations

from attncli.training.config import TrainConfig


def learning_rate(step: int, cuts: int, config: TrainConfig) -> float:
    """Return the learning rate of update `step`, from 1.

    cuts: how often the plateau schedule has reduced the rate.

    inverse_sqrt: lr * min(step / warmup, sqrt(warmup / step))   Vaswani et al. 2017, eq. 3
    linear:       lr * (steps + 1 - step) / (steps + 1 - warmup), after the warm-up
    """
    warm = max(1, config.warmup)
    if step < warm:
        return config.lr * step / warm
    if config.schedule == "inverse_sqrt":
        return float(config.lr * (warm / step) ** 0.5)
    if config.schedule == "linear":
        return config.lr * max(0, config.steps - step + 1) / max(1, config.steps - warm + 1)
    return float(config.lr * config.plateau_factor**cuts)
