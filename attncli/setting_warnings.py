"""Warnings about removed settings as lines of this program."""

from __future__ import annotations

import warnings
from typing import Any

from attncli.terminal import console
from models.removed_settings import RemovedSettingWarning


def show_as_lines() -> None:
    """Write each warning about a removed setting as one line, in process 0 of a run only."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if not issubclass(category, RemovedSettingWarning):
            usual(message, category, *place, **more)
            return
        from attncli.training.distributed.rank import is_first

        if is_first():
            console.warn(str(message))

    warnings.showwarning = show
