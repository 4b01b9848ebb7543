"""Parsing of untrusted JSON and TOML: too deep nesting is a ValueError, like any other damage."""

from __future__ import annotations

import json
from typing import Any

try:
    import tomllib
except ImportError:  # Python 3.10
    import tomli as tomllib  # type: ignore[no-redef]


def parse_json(text: str | bytes) -> Any:
    """Return the value of a JSON text; a ValueError if it is damaged or nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a TOML text; a ValueError if it is damaged or nested too deeply."""
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
