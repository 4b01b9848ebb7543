"""Settings as TOML: written with a comment above each, and parsed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import tomli_w

from models.core.errors import ConfigurationError, ModelError
from models.core.settings import Values, fields_of, parse_toml


def to_toml(config: Any, *, without: Collection[str] = (), section: str = "") -> str:
    """Return the configuration as TOML; a comment above each setting documents it.

    without: settings and tables that are left out, such as "model.copy" and "model.image". section:
    that the configuration is part of, whose head is left out.
    """
    lines = list(_toml_lines(config, section, without))
    return "\n".join(lines[1:] if section else lines)


def _toml_lines(config: Any, section: str, without: Collection[str]) -> Iterable[str]:
    tables = []
    if section:
        yield f"\n[{section}]"
    for name, field in fields_of(type(config)).items():
        value, place = getattr(config, name), f"{section}.{name}" if section else name
        if place in without:
            continue
        if hasattr(value, "__dataclass_fields__"):
            tables.append((place, value))
            continue
        if isinstance(value, tuple) and value and hasattr(value[0], "__dataclass_fields__"):
            tables += [(f"[{place}]", item) for item in value]
            continue
        yield f"# {field.metadata['doc']}"
        plain = list(value) if isinstance(value, tuple) else value
        yield tomli_w.dumps({name: plain}).strip()
    for place, table in tables:
        yield from _toml_lines(table, place, without)


def read_toml(path: Path) -> Values:
    """Return the tables of a TOML file; see `from_toml`. ModelError if it cannot be read."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"cannot read {path} ({reason})", "a TOML file") from None
    return from_toml(text, str(path))


def from_toml(text: str, name: str) -> Values:
    """Return the tables of a TOML file; raise ModelError with the line if it does not parse."""
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ConfigurationError(
            f"{name} is not TOML ({error})", "key = value lines in tables"
        ) from None
