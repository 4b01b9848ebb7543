"""XML with places: elements and the pieces of their texts, so that all else stays as it is."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from lxml import etree

from attncli.documents.inline import Piece, PieceKind, text_piece
from models.base.errors import InputError

TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<\?.*?\?>|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>"
    r"|<(?P<close>/)?(?P<name>[\w:.-]+)(?P<attributes>[^<>\"'/]*(?:(?:\"[^\"]*\"|'[^']*')[^<>\"'/]*)*)"
    r"(?P<empty>/)?>|(?P<entity>&(?:\#\d+|\#x[0-9a-fA-F]+|\w+);)",
    re.DOTALL,
)
ATTRIBUTE = re.compile(
    r"(?P<name>[\w:.-]+)\s*=\s*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)", re.DOTALL
)


class Element(NamedTuple):
    """An element with its place, and the elements that contain it, the root first."""

    name: str  # without its prefix
    attributes: Mapping[str, str]
    start: int
    inner: int  # after the start tag
    close: int  # before the end tag; of an empty element, its end
    end: int
    parents: tuple[Element, ...]

    def value_span(self, content: str, name: str) -> tuple[int, int] | None:
        """Return the place of the value of an attribute; None without it."""
        for found in ATTRIBUTE.finditer(content, self.start, self.inner):
            if found["name"] == name:
                return found.span("value")
        return None


def elements_of(content: str) -> list[Element]:
    """Return the elements of a file in the order of their ends. Raises InputError if damaged."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        etree.fromstring(content.removeprefix("\ufeff").encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"a document that is not XML ({error})", "XML", "mend it") from None
    found: list[Element] = []
    inside: list[Element] = []
    for token in TOKEN.finditer(content):
        if token["name"] and token["close"]:
            opened = inside.pop()
            found.append(opened._replace(close=token.start(), end=token.end()))
        elif token["name"]:
            end = token.end()
            pairs = ATTRIBUTE.finditer(token["attributes"])
            attributes = {one["name"]: html.unescape(one["value"]) for one in pairs}
            name = token["name"].rpartition(":")[2]
            one = Element(name, attributes, token.start(), end, end, end, tuple(inside))
            if token["empty"]:
                found.append(one)
            else:
                inside.append(one)
    return found


def pieces_of(
    content: str,
    start: int,
    end: int,
    *,
    opaque: frozenset[str] = frozenset(),
    texts: Callable[[str, int, int], Iterator[Piece]] | None = None,
) -> list[Piece]:
    """Return the pieces of a span of text with tags.

    opaque: elements that are one placeholder. texts: divides a span without tags into pieces.
    """
    found: list[Piece] = []
    at, skipped, depth = start, 0, 0
    for token in [*TOKEN.finditer(content, start, end), None]:
        first = token.start() if token else end
        if at < first and not depth:
            found += texts(content, at, first) if texts else [text_piece(content, at, first)]
        if token is None:
            break
        at = token.end()
        name = (token["name"] or "").rpartition(":")[2]
        if name in opaque and not token["empty"]:
            skipped = skipped if depth else token.start()
            depth += -1 if token["close"] else 1
            if not depth:
                found.append(Piece("placeholder", skipped, at, content[skipped:at]))
        elif not depth:
            found.append(_piece(token, name))
    return found


def _piece(token: re.Match[str], name: str) -> Piece:
    span, raw = token.span(), token[0]
    if token["entity"]:
        return Piece("text", *span, raw, html.unescape(raw))
    if name == "br":
        return Piece("break", *span, raw, "", name)
    kind: PieceKind = "void"
    if name and not token["empty"]:
        kind = "close" if token["close"] else "open"
    return Piece(kind, *span, raw, "", name)
