"""XML that holds texts: XLIFF 1.2 and 2, Android's `strings.xml`, and TTML subtitles."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from lxml import etree

from attncli.documents import html_page
from attncli.documents.divide import inline_segments
from attncli.documents.document import (
    Document,
    DocumentOptions,
    DocumentSegment,
    Kept,
    Texts,
    language_segment,
    reassemble,
)
from attncli.documents.inline import Piece, PieceKind, escaped, text_piece
from attncli.documents.subtitles import VTT_TAG, TextLine, cue_segments
from models.base.errors import InputError

# XML with places: elements and the pieces of their texts, so that all else stays as it is.


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


CODES = frozenset(("ph", "bpt", "ept", "it", "sub"))  # of XLIFF 1.2: code of another format
BREAK = re.compile(r"\s*<(?:\w+:)?br\b[^<>]*>\s*")
NEW = re.compile(r"state=.(?:new|needs-translation).")
ESCAPE = re.compile(r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?P<sign>.))|(?P<quote>\")", re.DOTALL)
CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)


def read(content: str, options: DocumentOptions) -> Document:
    """Return the texts of a file. Raises InputError for XML of another kind."""
    elements = elements_of(content)
    root = elements[-1]
    read_root = KINDS.get(root.name)
    if read_root is None:
        raise InputError(
            f"XML with the element <{root.name[:40]}>",
            "XLIFF (<xliff>), Android's strings (<resources>) or TTML (<tt>)",
            "-s input.format=html reads its texts as those of a page",
        )
    found = read_root(content, elements, options)
    segments = sorted(found.segments, key=lambda one: (one.start, one.end))
    return Document(content, tuple(segments), found.kept)


def _xliff(content: str, elements: list[Element], options: DocumentOptions) -> Document:
    """Return the sources of the units whose target is missing or empty."""
    segments, kept = [], list[Kept]()
    is_second = elements[-1].attributes.get("version", "").startswith("2")
    owner, name = ("xliff", "trgLang") if is_second else ("file", "target-language")
    for one in elements:
        if options.to and one.name == owner:
            span = one.value_span(content, name)
            form = "{}" if span else f' {name}="{{}}"'
            start, end = span or (one.inner - 1, one.inner - 1)
            segments.append(language_segment(start, end, options.to, form))
    targets = {one.parents[-1].start: one for one in elements if one.name == "target"}
    for one in elements:
        parents = one.parents
        if one.name != "source" or parents[-1].name not in ("trans-unit", "segment"):
            continue
        if any(parent.attributes.get("translate") == "no" for parent in parents):
            kept.append(Kept(one.start, html_page.UNTRANSLATED))
            continue
        target = targets.get(parents[-1].start)
        if target and content[target.inner : target.close].strip():
            kept.append(Kept(one.start, "units that are translated"))
            continue
        pieces = pieces_of(content, one.inner, one.close, opaque=CODES)
        inner = inline_segments(pieces, encode=escaped)
        if inner:
            segments.append(_as_target(content, one, target, inner))
    return Document(content, tuple(segments), tuple(kept))


def _as_target(
    content: str, source: Element, target: Element | None, inner: list[DocumentSegment]
) -> DocumentSegment:
    """Return the segment of a target: a copy of its source with the texts translated."""
    first, last = source.inner, source.close
    moved = [one._replace(start=one.start - first, end=one.end - first) for one in inner]
    copy = Document(content[first:last], tuple(moved))
    before = content[content.rfind("\n", 0, source.start) + 1 : source.start]
    prefix = re.match(r"<(\w+:)?", content[source.start :])
    name = f"{prefix[1] or '' if prefix else ''}target"

    def write(texts: Texts) -> str:
        rest = iter(texts)
        each = [tuple(next(rest) for _ in one.texts) for one in moved]
        whole = f"{reassemble(copy, each)}</{name}>"
        if target:
            head = content[target.start : target.inner].removesuffix("/>").removesuffix(">")
            return NEW.sub('state="translated"', head.rstrip()) + f">{whole}"
        line = f"\n{before}" if not before.strip() else ""
        return f"{line}<{name}>{whole}"

    span = (target.start, target.end) if target else (source.end, source.end)
    return DocumentSegment(*span, tuple(text for one in inner for text in one.texts), write)


def _android(content: str, elements: list[Element], options: DocumentOptions) -> Document:
    segments, kept = [], list[Kept]()
    for one in elements:
        if one.name not in ("string", "item") or not one.parents:
            continue
        owners = (*one.parents, one)
        if any(owner.attributes.get("translatable") == "false" for owner in owners):
            kept.append(Kept(one.start, html_page.UNTRANSLATED))
            continue
        key = "".join(owner.attributes.get("name", "") for owner in owners[-2:])
        if data := CDATA.fullmatch(content, one.inner, one.close):
            found, more = html_page.read_span(content, *data.span(1))
            kept += more
        else:
            pieces = pieces_of(
                content, one.inner, one.close, opaque=frozenset("g"), texts=_android_texts
            )
            found = inline_segments(pieces, encode=_android_encoded)
        segments += [segment._replace(key=key) for segment in found]
    return Document(content, tuple(segments), tuple(kept))


def _android_texts(content: str, start: int, end: int) -> Iterator[Piece]:
    at = start
    for found in ESCAPE.finditer(content, start, end):
        if at < found.start():
            yield text_piece(content, at, found.start())
        at, span, raw = found.end(), found.span(), found[0]
        if raw in ('"', "\\n"):
            yield Piece("break" if raw == "\\n" else "void", *span, raw, "", "br")
        else:
            sign = chr(int(found["code"], 16)) if found["code"] else found["sign"]
            yield Piece("text", *span, raw, sign)
    if at < end:
        yield text_piece(content, at, end)


def _android_encoded(text: str) -> str:
    return re.sub(r"([\\'\"])|^([@?])", r"\\\g<0>", escaped(text))


def _timed_text(content: str, elements: list[Element], options: DocumentOptions) -> Document:
    segments: list[DocumentSegment] = []
    if options.to and (span := elements[-1].value_span(content, "xml:lang")):
        segments.append(language_segment(*span, options.to))
    for one in elements:
        if one.name == "p" and one.inner < one.close:
            lines, at = [], one.inner
            for found in BREAK.finditer(content, one.inner, one.close):
                lines.append(TextLine(at, found.start()))
                at = found.end()
            lines.append(TextLine(at, one.close))
            segments += cue_segments(content, lines, VTT_TAG, escaped)
    return Document(content, tuple(segments))


KINDS: dict[str, Callable[[str, list[Element], DocumentOptions], Document]] = {
    "xliff": _xliff,
    "resources": _android,
    "tt": _timed_text,
}
