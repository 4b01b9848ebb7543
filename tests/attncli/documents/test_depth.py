"""Values inside each other: readers bound the depth, and their time grows with the length alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from attncli.documents.document import DocumentOptions, read_document
from attncli.faithful.branches import branches
from models.core.errors import ModelError

CHOICE = "{n, choice, 0#none|1<"
PLURAL = "{n, plural, other {"
NESTED: dict[str, Callable[[int], str]] = {
    "json": lambda n: '{"a": ' * n + '"A dog."' + "}" * n,
    "arb": lambda n: '{"a": ' * n + '"A dog."' + "}" * n,
    "yaml": lambda n: "a: " + "[" * n + "A dog." + "]" * n,
    "properties": lambda n: "a = " + CHOICE * n + "A dog." + "}" * n,
    "strings": lambda n: '"a" = "' + PLURAL * n + "A dog." + "}}" * n + '";',
    "html": lambda n: "<html>" + "<b>" * n + "A dog." + "</b>" * n,
    "xml": lambda n: "<?xml version='1.0'?>" + "<b>" * n + "A dog." + "</b>" * n,
    "markdown": lambda n: "> " * n + "A dog.",
}


@pytest.mark.parametrize("depth", [1, 30, 300, 3000])
@pytest.mark.parametrize("format", NESTED)
def test_deep_values_are_read_or_refused_in_one_line(format: str, depth: int) -> None:
    with suppress(ModelError):
        for segment in read_document(NESTED[format](depth), format, DocumentOptions()).segments:
            for text in segment.texts:
                branches(text)


@pytest.mark.parametrize("syntax", [(CHOICE, "}"), (PLURAL, "}}")])
def test_messages_inside_each_other_are_bounded(syntax: tuple[str, str]) -> None:
    first, last = syntax
    assert branches(first + "A dog." + last)
    for depth in (17, 200, 5000):
        assert branches(first * depth + "A dog." + last * depth) == []


def test_an_open_override_of_a_subtitle_takes_time_in_proportion() -> None:
    def seconds(count: int) -> float:
        text = "[Events]\nFormat: Text\nDialogue: {" + "\\p1 m 0 0 " * count + "\n"
        began = time.process_time()
        read_document(text, "ass", DocumentOptions())
        return time.process_time() - began

    assert seconds(20_000) < 2
