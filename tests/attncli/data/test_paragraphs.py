"""Texts of several lines."""

from __future__ import annotations

from functools import partial

import pytest

from attncli.data.lines import Line
from attncli.data.split import by_line
from attncli.tasks.translate.engine import TranslateOptions
from attncli.tasks.translate.lines import translate_lines
from tests.upper_model import Upper

USUAL = TranslateOptions()


@pytest.mark.parametrize("text", ["a dog", "a dog\n\na cat\r\n", "\ra\r\r", "", "\n", "a\n12\n"])
def test_every_line_is_translated_and_every_line_end_stays(text: str) -> None:
    translate = partial(translate_lines, translator=Upper(), options=USUAL)
    chunks = [[Line(1, text), Line(2, "a cat")], [Line(3, text)]]
    first, second = by_line(chunks, translate)
    assert [one.line.number for one in (*first, *second)] == [1, 2, 3]
    for outcome in (first[0], *second):
        assert outcome.translation and outcome.translation.text == text.upper()
        assert outcome.line.text == outcome.translation.source == text


def test_a_text_with_a_line_that_is_refused_is_not_translated() -> None:
    translate = partial(translate_lines, translator=Upper(), options=USUAL)
    [[outcome]] = by_line([[Line(7, "a\nb", fault="longer than 1 MiB")]], translate)
    assert outcome.translation is None and "line 7 is longer" in outcome.note
