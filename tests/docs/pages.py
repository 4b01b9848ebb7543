"""The pages of the documentation and their fenced blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.storage.installed import BOX

ROOT = Path(__file__).parents[2]
TUTORIALS = ROOT / "docs/tutorials"
NEEDED = ("everyday", "photos", "grammar-en-de")  # of the blocks marked box
MISSING = [name for name in NEEDED if not (BOX / name).exists()]


def blocks(page: Path, language: str) -> Iterator[tuple[str, str]]:
    """Yield the word after the language, and the text, of each fenced block."""
    pattern = rf"^```{language}(?: (\w+))?\n(.*?)^```$"
    yield from re.findall(pattern, page.read_text("utf-8"), flags=re.S | re.M)


def all_blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the language, the word after it, and the text of each fenced block, in order."""
    pattern = r"^```(\w+)(?: (\w+))?\n(.*?)^```$"
    yield from re.findall(pattern, page.read_text("utf-8"), flags=re.S | re.M)


def lines_of(block: str) -> list[str]:
    """Return the command lines of a block, without comments."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def require_models(needs: str) -> None:
    """Expect a failure if a block needs the models in the box, and one is missing."""
    if needs == "box" and MISSING:
        pytest.xfail(f"not in the box: {MISSING}")
