"""Settings that suit a run with a limit on its time (train.minutes)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

SETTING = "train.minutes"
BROUGHT = {"schedule": "linear", "steps": 0, "epochs": 0, "patience": 0}


def with_time_limit(values: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """Return the [train] table, completed if a run is limited by its time.

    Then the learning rate falls to 0 at the end of that time, so the preset's number of updates or
    epochs and its early stopping do not apply. Values of the table take precedence; assignments
    override both.
    """
    given = {name.strip(): value for name, _, value in map(_parted, assignments)}
    if given.get(SETTING, values.get("minutes", 0)) in (0, "0", "0.0", ""):
        return dict(values)
    return {**BROUGHT, **values}


def _parted(assignment: str) -> tuple[str, str, str]:
    return assignment.partition("=")
