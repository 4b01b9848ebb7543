"""Labelled texts for tests: the label is a colour or animal that occurs among other words."""

from __future__ import annotations

import random
from pathlib import Path

from tests.attncli.files import write

KEYS = {"colour": ("red", "green", "blue"), "animal": ("dog", "cat", "horse"), "none": ("",)}
OTHERS = ("the", "a", "we", "see", "old", "new", "house", "today", "again")


def toy_rows(count: int, seed: int = 1) -> list[tuple[str, str]]:
    """Return rows (label, text)."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        label = rng.choice(list(KEYS))
        words = [rng.choice(OTHERS) for _ in range(rng.randrange(1, 6))]
        words.insert(rng.randrange(len(words) + 1), rng.choice(KEYS[label]))
        rows.append((label, " ".join(filter(None, words))))
    return rows


def write_toy(path: Path, count: int, seed: int = 1) -> Path:
    """Write a table of labelled texts."""
    write(path, toy_rows(count, seed))
    return path
