"""Heat maps in a terminal: widths, scripts, colour, and what is wider than the screen."""

from __future__ import annotations

import re
from unicodedata import category

import numpy
import pytest

from attncli.render.alignment_writers import heat_maps
from attncli.task.panels import AlignedPair, Panel
from attncli.terminal.messages import TRUE_COLOUR, Screen, fitted, padded, width, without_controls

ESCAPE = re.compile("\x1b\\[[0-9;]*m")


def pair(source: str, target: str, *, views: int = 1, named: bool = False) -> AlignedPair:
    units = tuple(source.split()), tuple(target.split())
    weights = numpy.zeros((len(units[1]), len(units[0])))
    links = {(j % len(units[0]), j) for j in range(len(units[1]))}
    for i, j in links:
        weights[j, i] = 0.75
    names = [f"view {n}" if named else "" for n in range(views)]
    panels = tuple(Panel(name, frozenset(links), weights) for name in names)
    return AlignedPair(1, *units, panels)


def test_a_small_pair_by_hand() -> None:
    drawn = heat_maps(pair("le chaton", "the cat"), Screen(40))
    assert drawn.splitlines() == [
        "1",
        "    le",
        "    │    chaton",
        "the [ 75]   ·",
        "cat    · [ 75]",
        "",
    ]
    narrow = heat_maps(pair("le chaton", "the cat"), Screen(14))
    assert narrow.splitlines()[1:5] == ["    le", "    │ chaton", "the ▓*·", "cat · ▓*"]
    short = heat_maps(pair("le chat", "the cat"), Screen(40))
    assert short.splitlines()[1:3] == ["      le chat", "the [ 75]   ·"]


@pytest.mark.parametrize("columns", [20, 33, 60, 100])
@pytest.mark.parametrize(
    "texts",
    [
        ("犬 は 小さな 家 を 見る 。", "a small house"),
        ("dog " * 30, "犬 家"),
        ("אני רואה בית", "i see a house שלום"),
        ("y", "ein einziger Zeilenanfang von Donaudampfschifffahrtsgesellschaften"),
    ],
)
def test_no_line_is_wider_than_the_screen(columns: int, texts: tuple[str, str]) -> None:
    for colour in (False, True):
        drawn = heat_maps(pair(*texts, views=2, named=True), Screen(columns, colour))
        lines = [ESCAPE.sub("", line) for line in drawn.splitlines()]
        assert max(map(width, lines)) <= columns


def test_right_to_left_words_are_isolated() -> None:
    [line] = [row for row in heat_maps(pair("a", "שלום"), Screen(60)).splitlines() if "[" in row]
    assert line == "\u200e\u2068שלום\u2069 [ 75]"


def test_colour_only_where_it_is_wanted() -> None:
    assert "\x1b" not in heat_maps(pair("a b", "c d"), Screen(60))
    coloured = heat_maps(pair("a b", "c d"), Screen(60, TRUE_COLOUR))
    assert "\x1b[" in coloured
    assert ESCAPE.sub("", coloured) == heat_maps(pair("a b", "c d"), Screen(60))


def test_words_cannot_steer_the_terminal() -> None:
    drawn = heat_maps(AlignedPair(1, ("a\x1b[31m",), ("\u202eb",), (Panel("", frozenset()),)))
    assert "\x1b" not in drawn and "\u202e" not in drawn


def test_widths_of_text() -> None:
    assert [width(text) for text in ("abc", "犬", "e\u0301", "👩\u200d👧", "ｱ", "☺\ufe0f")] == [
        3, 2, 1, 2, 1, 2,
    ]  # fmt: skip
    assert [fitted("abcdef", 4), fitted("犬犬犬", 4), fitted("ab", 2)] == ["abc…", "犬…", "ab"]
    assert padded("犬", 4) == "犬  " and padded("ab", 4, right=True) == "  ab"
    assert all(category(c) not in ("Cc", "Cf") for c in without_controls("a\x00\u200fb\tc"))
