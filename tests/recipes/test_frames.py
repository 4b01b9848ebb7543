"""Sentence frames of the recipe of `everyday`: the same slots in four languages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FRAMES = sorted((Path(__file__).parents[2] / "recipes" / "frames").glob("*.tsv"))


@pytest.mark.parametrize("path", FRAMES, ids=lambda path: path.stem)
def test_frames_have_the_same_slots_in_four_languages(path: Path) -> None:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        columns = line.split("\t")
        slots = [sorted(re.findall(r"\{(\w+)", column)) for column in columns]
        assert len(columns) == 4 and all(columns), number
        assert slots == [sorted({*slots[0]})] * 4, number
