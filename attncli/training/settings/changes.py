"""Differences between the settings of two runs: a run continues only with equal settings."""

from __future__ import annotations

import math

from attncli.training.settings.config import FILES, RunConfig
from models.base.settings import flat, to_dict

PATHS = ("train", "dev", "corpora", "dev_corpora", "features")  # contents are compared instead
HARMLESS = ("checkpoint_minutes", "log_every", "loggers", "samples")  # they change no weights
UNCHECKED = {
    *("preset", "start_from"),
    *(f"data.{name}" for name in (*PATHS, *FILES)),
    *(f"train.{name}" for name in HARMLESS),
}
LIMITS = ("train.steps", "train.epochs", "train.minutes", "train.patience")  # 0: no limit


def differences(new: RunConfig, old: RunConfig, *, may_continue: bool = True) -> list[str]:
    """Return the settings that differ between two runs, as `section.key was old, now new`.

    Paths of data, and settings that cannot change the weights, are not compared. may_continue:
    leave out limits that are raised, because the run can continue to them.
    """
    before = flat(to_dict(old))
    return [
        f"{place} was {before[place]!r}, now {value!r}"
        for place, value in flat(to_dict(new)).items()
        if value != before[place] and place not in UNCHECKED
        if not (may_continue and place in LIMITS and 0 < before[place] < (value or math.inf))
    ]
