"""The page's own texts: each is in texts.json, in every language, and none there is unused."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

from attncli.serve._fields import PAGE

QUOTED = r'"((?:[^"\\]|\\.)*)"'
CALLED = re.compile(
    rf"\b(?:t|say|offerInstead|copy)\((?:[^\"`()]*(?:\([^()]*\)[^\"`()]*)*, )?{QUOTED}"
)
LITERALS = {"attn", "PNG", "SVG", "name, note", "API", "order = Auftrag", "attn models", "⇄"}
VALUE = re.compile(r"\{\w+\}")


class Texts(HTMLParser):
    """The texts of a page, and those of attributes that people read."""

    def __init__(self) -> None:
        super().__init__()
        self.found = set[str]()
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.inside = self.inside or tag == "body"
        if self.inside:
            names = ("title", "placeholder", "aria-label")
            self.found |= {value or "" for name, value in attrs if name in names}

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.found.add(" ".join(data.split()))


def wanted() -> set[str]:
    """Return the texts of index.html, and the quoted ones that scripts translate."""
    page = Texts()
    page.feed(PAGE.joinpath("index.html").read_text())
    return page.found - LITERALS - {""}


def test_every_text_of_the_page_is_translated_and_none_is_left_over() -> None:
    table = json.loads(PAGE.joinpath("texts.json").read_text())
    scripts = "\n".join(one.read_text() for one in PAGE.iterdir() if one.name.endswith(".js"))
    called = {*CALLED.findall(scripts)} - {""}
    assert called | wanted() <= {*table}, sorted((called | wanted()) - {*table})
    assert not [text for text in table if text not in scripts and text not in wanted()]
    for text, own in table.items():
        assert [*own] == ["de", "fr", "es"] and all(map(str.strip, own.values())), text
        for one in own.values():
            assert sorted(VALUE.findall(one)) == sorted(VALUE.findall(text)), text
