"""A task: the places of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Task(NamedTuple):
    """Places of a task, as module:name; empty for a part that it does not have."""

    commands: Mapping[str, str]  # by name: classes; see attncli.options.fields
    training: Mapping[str, str] = {}  # TrainingSource, by kind of input (models/core/sources)
    runner: str = ""  # Runner, with which every door works
    loaded: str = ""  # class that `attncli.load` returns; without one, that of `models.load`
