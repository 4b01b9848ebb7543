"""Colour and width are decided in one place, by the terminal and the environment."""

from __future__ import annotations

import sys

import pytest

from attncli.data.streams import as_json_line
from attncli.terminal.messages import TRUE_COLOUR, Screen, colours_of, current_screen


@pytest.mark.parametrize(
    "environment, is_terminal, colours",
    [
        ({}, True, 256),
        ({"COLORTERM": "truecolor"}, True, TRUE_COLOUR),
        ({"COLORTERM": "truecolor", "NO_COLOR": "1"}, True, 0),
        ({"TERM": "dumb"}, True, 0),
        ({"COLORTERM": "truecolor"}, False, 0),
        ({"FORCE_COLOR": "1"}, False, 256),
        ({"FORCE_COLOR": "0"}, False, 0),
        ({"FORCE_COLOR": "1", "COLORTERM": "24bit"}, False, TRUE_COLOUR),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, True, 0),
        ({"FORCE_COLOR": "1", "TERM": "dumb"}, True, 256),
    ],
)
def test_colours_follow_the_terminal_and_the_environment(
    environment: dict[str, str], is_terminal: bool, colours: int
) -> None:
    assert colours_of(environment, is_terminal=is_terminal) == colours


def test_columns_override_the_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setenv("FORCE_COLOR", "")
    monkeypatch.setenv("COLUMNS", "61")
    assert current_screen() == Screen(61, 0)


def test_a_json_line_has_no_character_that_ends_a_line_or_controls_a_terminal() -> None:
    row = as_json_line({"text": "a\u2028b\x85c\u2029d\x1be\x7ff\x9bg\nh"})
    assert row.isascii() and row.isprintable() and len(row.splitlines()) == 1
