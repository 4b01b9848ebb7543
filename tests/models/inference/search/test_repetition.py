"""Repetition loops in outputs."""

from __future__ import annotations

import pytest

from models.inference.search.repeats import Repetition, repetition


@pytest.mark.parametrize(
    "text, phrase, count",
    [
        ("a man " + "and a dog " * 5, "and a dog", 5),
        ("no " * 9, "no", 9),
        ("x y " * 4 + "end.", "x y", 4),
        ("哈哈" * 6, "哈", 12),
    ],
)
def test_a_loop_is_found_with_its_phrase(text: str, phrase: str, count: int) -> None:
    assert repetition(text) == Repetition(phrase, count)


@pytest.mark.parametrize(
    "text", ["", "a", "very very very good", "the dog and the cat and the man and", "0000"]
)
def test_ordinary_text_has_no_loop(text: str) -> None:
    assert repetition(text) is None


def test_a_loop_of_the_source_is_not_a_fault() -> None:
    assert repetition("ja " * 8, "yes " * 8) is None
    assert repetition("ja " * 20, "yes " * 8) == Repetition("ja", 20)
    assert repetition("ja " * 20, "yes", "ja " * 20) is None  # so does a reference
    assert repetition("ja " * 20, "yes", "ja " * 8) == Repetition("ja", 20)
