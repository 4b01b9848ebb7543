"""Recognition of tags: element tags, comments, and entities.

Everything else is text, including a lone ``<`` ("3 < 4") and a percent sign ("100% sure").
An entity that stands for a visible character is text as well, and is read as that character.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from html.entities import html5
from itertools import islice
from typing import Literal, NamedTuple

from models.base.limits import LINE_TAGS

Kind = Literal["text", "open", "close", "void", "placeholder"]

NAME = r"(?:[A-Za-z][\w:.-]*|\d+)"
COMMENT = r"<!--(?:(?!<!--|-->).)*-->|<[!?][A-Za-z][^<>]*>"
TAG = rf"""{COMMENT}|</?{NAME}(?:\s(?:[^"'<>]|"[^"]*"|'[^']*')*)?/?>"""
ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);"

MARK = re.compile(
    rf"(?P<tag>{TAG})|(?P<opaque><%.*?%>)|(?P<entity>{ENTITY})",
    re.DOTALL,
)

OPAQUE_TAG = re.compile(r"<x\d+/>")  # of a document, for what is not translated
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
BLOCK = re.compile("p|div|li|ul|ol|dl|dt|dd|tr|td|th|table|h[1-6]|blockquote|pre|option|hr")


class Segment(NamedTuple):
    """Part of a line: text, or one tag."""

    kind: Kind
    raw: str  # as in the line
    text: str = ""  # of text: with its entities decoded

    @property
    def name(self) -> str:
        """Return the name of an element tag in lower case; empty for others."""
        found = re.match(rf"</?({NAME})", self.raw)
        return found[1].lower() if found else ""

    @property
    def block(self) -> bool:
        """Return True for the tag of a paragraph, a list item or another block."""
        return bool(BLOCK.fullmatch(self.name))

    @property
    def breaking(self) -> bool:
        """Return True for a tag that separates words: a line break, a block, a space entity."""
        if self.raw[0] == "&":
            return _decoded(self.raw).isspace()
        return self.name == "br" or self.block


def scan(line: str) -> Iterator[Segment]:
    """Yield the segments of a line in order; their raw texts joined are the line."""
    at = 0
    for found in MARK.finditer(line):
        if at < found.start():
            yield Segment("text", line[at : found.start()], line[at : found.start()])
        yield _part(found)
        at = found.end()
    if at < len(line):
        yield Segment("text", line[at:], line[at:])


def count(line: str) -> Counter[str]:
    """Return how often each tag occurs."""
    return Counter(part.raw for part in scan(line) if part.kind != "text")


def too_many_tags(line: str) -> bool:
    """Return True if a line has more tags than can be projected in reasonable time."""
    return next(islice(MARK.finditer(line), LINE_TAGS, None), None) is not None


def _part(found: re.Match[str]) -> Segment:
    raw = found[0]
    if found["entity"]:
        text = _decoded(raw)
        visible = any(unicodedata.category(c)[0] not in "CZ" for c in text)
        return Segment("text", raw, text) if visible else Segment("void", raw)
    if found["opaque"] or OPAQUE_TAG.fullmatch(raw):
        return Segment("placeholder", raw)
    tag = Segment("close" if raw[1] == "/" else "open", raw)
    is_void = raw[1] in "!?" or raw.endswith("/>") or VOID.fullmatch(tag.name)
    return tag._replace(kind="void") if is_void else tag


def _decoded(entity: str) -> str:
    """Return the character of an entity; an unknown entity is returned unchanged."""
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)
