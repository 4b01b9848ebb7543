"""Places of classes and functions in registries, as ``module:name``; imported only when used."""

from __future__ import annotations

import importlib
from typing import Any


def imported(place: str) -> Any:
    """Import and return the class or function at a place."""
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
