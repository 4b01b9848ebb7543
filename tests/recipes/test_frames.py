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


def test_a_filled_frame_has_the_numbers_of_each_language() -> None:
    frames = pytest.importorskip("everyday_frames", reason="needs num2words and Babel")
    assert frames.words(21, "es") == "veintiún" and frames.words(200, "es", "f") == "doscientas"
    assert frames.words(81, "fr", "f") == "quatre-vingt-une"
    assert frames.time_in_words(3, 30) == (
        "half past three",
        "halb vier",
        "trois heures et demie",
        "las tres y media",
    )
