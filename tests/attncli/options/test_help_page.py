"""Help pages read well in 80 columns: sections, plain names of values."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from attncli.options.help_page import OTHER, SECTIONS
from attncli.shell import app
from tests.attncli.command_line import Attn

Page = Callable[[str], str]
MOST_OPTIONS, MOST_LINES = 23, 80  # of a page


@pytest.fixture
def page(attn: Attn, monkeypatch: pytest.MonkeyPatch) -> Page:
    """Return a function that gives the help page of a command."""
    monkeypatch.setenv("COLUMNS", "80")
    return lambda name: str(attn(*name.split(), "--help").out)


@pytest.mark.parametrize("name", app.COMMANDS)
def test_a_page_fits_and_shows_no_type_of_python(name: str, page: Page) -> None:
    shown = page(name)
    assert not re.search(r"<(int|float|str|path|list\[)|x>=|<=x", shown)
    rows = shown.splitlines()
    assert sum(row.startswith("  -") for row in rows) <= MOST_OPTIONS and len(rows) <= MOST_LINES
    before, _, example = shown.partition("Example:")
    assert max(map(len, before.splitlines())) <= 80
    assert f"attn {name}" in example.splitlines()[-1]


def test_many_options_are_listed_in_sections_and_few_in_one(page: Page) -> None:
    titles = re.findall(r"^(\w.*):$", page("translate"), re.M)
    assert titles == ["Arguments", *(title for title in SECTIONS if title in titles), OTHER]
    assert {"Model", "Search", "Computation"} < set(titles)
    assert re.findall(r"^(\w.*):$", page("models show"), re.M) == ["Arguments", "Options"]
