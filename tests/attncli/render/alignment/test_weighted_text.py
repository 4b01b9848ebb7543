"""Coloured words as running text: places of words, colours, and letters that need care."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from attncli.render.figures import undrawable
from attncli.render.weighted_text import written
from attncli.task.panels import WeightedText, WeightRow

ONE = WeightedText(3, ("play", "<jazz>", "&"), (WeightRow("", (0.2, 0.4, 0.0)),), "music (98 %)")
HEADS = ONE._replace(rows=(WeightRow("head 1", (1.0, 0, 0)), WeightRow("head 2", (0, 0, 1.0))))
SVG = "{http://www.w3.org/2000/svg}"


def test_an_svg_is_well_formed_and_holds_the_words_in_order() -> None:
    root = ElementTree.fromstring(written([ONE, HEADS], "svg"))
    heads = [*("head 1", *ONE.words), *("head 2", *ONE.words)]
    expected = ["3  music (98 %)", *ONE.words, "3  music (98 %)", *heads]
    assert [text.text for text in root.iter(f"{SVG}text")] == expected


def test_a_page_escapes_words_and_has_their_weights() -> None:
    page = written([HEADS], "html").decode()
    assert page.count("&lt;jazz&gt;") == 2 and "<jazz>" not in page
    assert "<b>head 2</b>" in page and 'title="1.000">play' in page


@pytest.mark.parametrize("name", ["svg", "html", "png", "pdf"])
def test_a_line_without_a_label_is_drawn_as_its_note(name: str) -> None:
    refused = WeightedText(2, (), (), note="line 2 is not valid UTF-8")
    content = written([ONE, refused], name)
    begin = {"png": b"\x89PNG", "pdf": b"%PDF"}.get(name)
    assert content.startswith(begin) if begin else b"line 2 is not valid UTF-8" in content


def test_letters_without_a_font_are_reported() -> None:
    rare = ONE._replace(words=("\U00012000", "a", "b"))
    assert "no font with the letters" in undrawable(rare.drawn)
    assert written([rare], "png")
