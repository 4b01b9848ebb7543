"""JSON and TOML that are damaged, nested too deeply, or of absurd numbers are a ValueError."""

from __future__ import annotations

import pytest

from attncli.training.config import from_toml
from models.core.errors import ModelError
from models.core.settings import parse_json, parse_toml


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 5000, "", "{"])
def test_json(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 5000,
        "x = " + "[" * 500 + "]" * 500,
        "x = " + "1" * 5000,
        "x =",
        "x" + ".x" * 50_000,
    ],
)
def test_toml(text: str) -> None:
    with pytest.raises(ValueError):
        parse_toml(text)
    with pytest.raises(ModelError, match=r"config.toml is not TOML"):
        from_toml(text, "config.toml")
