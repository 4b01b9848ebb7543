"""XML that holds texts: XLIFF 1.2 and 2, Android's `strings.xml`, and TTML subtitles."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lxml import etree

from attncli.documents import _html_page as html_page
from attncli.documents._inline import (
    MARKED,
    Piece,
    PieceKind,
    escaped,
    fold,
    inline_segments,
    pieces_between,
    text_piece,
)
from attncli.documents._subtitles import TextLine, cue_segments, divided
from attncli.documents.document import (
    TRANSLATED,
    Document,
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Kept,
    Texts,
    language_segment,
    reassemble,
    unescaped,
)
from attncli.faithful.pieces import LINE_END
from models.core.errors import InputError
from models.core.types import Span

# XML with places: elements and the pieces of their texts, so that all else stays as it is.

TOKEN = re.compile(
    r"<!--.*?-->|<!\[CDATA\[(?P<data>.*?)\]\]>|<\?.*?\?>|<!DOCTYPE(?:[^>\"'\[]|\"[^\"]*\"|'[^']*')*"
    r"(?:\[(?:<!--.*?-->|<\?.*?\?>|(?!<!--|<\?)[^\]\"']|\"[^\"]*\"|'[^']*')*\]\s*)?>"
    r"|<(?P<close>/)?(?P<name>[^\s<>/!?=\"']+)(?P<attributes>[^<>\"'/]*(?:(?:\"[^\"]*\"|'[^']*')[^<>\"'/]*)*)"
    r"(?P<empty>/)?>|(?P<entity>&(?:\#\d+|\#x[0-9a-fA-F]+|\w+);)",
    re.DOTALL,
)
ATTRIBUTE = re.compile(
    r"(?P<name>[\w:.-]+)\s*=\s*(?P<quote>[\"'])(?P<value>.*?)(?P=quote)", re.DOTALL
)
PAIRS: dict[str, PieceKind] = {"bpt": "open", "bx": "open", "sc": "open", "START": "open"}
ANGULAR = re.compile(r"(START|CLOSE)_(\w+?)(?:_\d+)?")  # names of pairs
FIXED = re.compile(r"""\s(?:translate=["']no|mtype=["']protected)\b""")
ANDROID = ("string", "item")  # elements of texts
LANGUAGE, TIMED_BLOCKS = "xml:lang", ("tt", "body", "div", "p")
CODES = frozenset(("ph", "bpt", "ept", "it", "sub"))  # of XLIFF 1.2: code of another format
# bounded repetitions, so that a code without an end takes linear time
TAG = re.compile(r"<(ph|bpt|ept|it)\b[^<>]*(?<!/)>.{,1000}?</\1\s*>|<[^<>\[\]]*>", re.DOTALL)
BREAK = re.compile(r"(?:(?<!\s)\s+)?<(?:\w+:)?br\b[^<>]*>\s*")
# the groups as those of `subtitles.SRT_TAG`; a prefix is no part of the name
TIMED_TAG = re.compile(
    r"<(?P<close>/)?(?:[\w.-]+:)?(?P<name>(?!metadata\b)[\w.-]+)(?:[^<>\"']|\"[^\"]*\"|'[^']*')*(?<!/)>"
    r"|<(?P<meta>(?:[\w.-]+:)?metadata)\b.{,1000}?</(?P=meta)\s*>|<!--.*?-->|<[^<>]*>|&\#?\w+;",
    re.DOTALL,
)
WIDEST = 200  # spaces before an element on its line
DONE = 'state="translated"'
NEW = re.compile(r"state=.(?:new|initial|needs-translation).")
ESCAPE = re.compile(r"(?P<codes>(?:\\u[0-9A-Fa-f]{4})+)|\\(?P<sign>.)|\"", re.DOTALL)
CDATA = re.compile(r"\s*<!\[CDATA\[(.*)\]\]>\s*", re.DOTALL)


class Element(NamedTuple):
    """An element with its place."""

    name: str  # without its prefix
    attributes: Mapping[str, str]
    start: int
    inner: int  # after the start tag
    close: int  # before the end tag; of an empty element, its end
    end: int
    parent: Any  # the element that contains it; None of the root

    def value_span(self, content: str, name: str) -> Span | None:
        """Return the place of the value of an attribute; None without it."""
        found = ATTRIBUTE.finditer(content, self.start, self.inner)
        return next((one.span("value") for one in found if one["name"] == name), None)

    def lineage(self) -> Iterator[Element]:
        """Yield the element and all that contain it, the root last."""
        one = self
        while one:
            yield one
            one = one.parent

    def has(self, attribute: str, value: str) -> bool:
        """Return True if the element, or one that contains it, has an attribute of this value."""
        return any(one.attributes.get(attribute) == value for one in self.lineage())


def elements_of(content: str) -> list[Element]:
    """Return the elements of a file in the order of their ends. Raises InputError if damaged."""
    options = {"resolve_entities": False, "no_network": True, "load_dtd": False}
    parser = etree.XMLParser(encoding="utf-8", **options)  # also if the file names another one
    try:
        # lxml only checks; it tells no places, so the pattern TOKEN finds the tags
        etree.fromstring(content.removeprefix("\ufeff").encode(), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise InputError(f"a document that is not XML ({error})", "XML", "mend it") from None
    found: list[Element] = []
    inside: list[Element] = []
    for token in TOKEN.finditer(content):
        if token["name"] and token["close"]:
            if not inside:
                raise InputError("XML with a DTD that cannot be read", "elements in pairs")
            found.append(inside.pop()._replace(close=token.start(), end=token.end()))
        elif token["name"]:
            end = token.end()
            pairs = ATTRIBUTE.finditer(token["attributes"])
            attributes = {one["name"]: unescaped(one["value"]) for one in pairs}
            parent = inside[-1] if inside else None
            start, name = token.start(), _local(token)
            one = Element(name, attributes, start, inner=end, close=end, end=end, parent=parent)
            (found if token["empty"] else inside).append(one)
    return found


def pieces_of(
    content: str,
    element: Element,
    opaque: frozenset[str],
    texts: Callable[[str, int, int], Iterable[Piece]] = lambda *span: [text_piece(*span)],
) -> list[Piece]:
    """Return the pieces of the text of an element.

    opaque: elements that are one placeholder. texts: divides a span without tags into pieces.
    """
    found: list[Piece] = []
    pieces = [*pieces_between(content, element.inner, element.close, TOKEN, _piece)]
    for one in fold(pieces, lambda raw: FIXED.search(raw) or _named(raw)[0] in opaque):
        is_gap = one.kind == "text" and one.text == one.raw
        found += texts(content, one.start, one.end) if is_gap else [_paired(one)]
    return found


def _named(raw: str) -> tuple[str, dict[str, str]]:
    """Return the name and the attributes of the tag that a markup begins with."""
    token = TOKEN.match(raw)
    assert token
    pairs = ATTRIBUTE.finditer(token["attributes"] or "")
    return _local(token), {one["name"]: one["value"] for one in pairs}


def _local(token: re.Match[str]) -> str:
    """Return the name of an element without its prefix."""
    return (token["name"] or "").rpartition(":")[2]


def _paired(piece: Piece) -> Piece:
    """Return the piece of an element; one that begins or ends a pair of XLIFF is a tag of it."""
    name, given = _named(piece.raw)
    own = given.get("rid") or given.get("startRef") or given.get("id", "")
    if name == "x" and (found := ANGULAR.fullmatch(own)):
        name, own = found[1], found[2]
    kind = PAIRS.get(name)
    return piece._replace(kind=kind, name=own) if kind else piece


def _piece(token: re.Match[str]) -> Piece:
    span, raw, name = token.span(), token[0], _local(token)
    if token["entity"]:
        text = unescaped(raw)
        return Piece("break" if text == "\n" else "text", *span, raw, text.strip("\n"), "br")
    kind: PieceKind = "void"
    if name == "br":
        kind = "break"
    elif name and not token["empty"]:
        kind = "close" if token["close"] else "open"
    return Piece(kind, *span, raw, "", name)


PAIRS |= {"ept": "close", "ex": "close", "ec": "close", "CLOSE": "close"}


def read(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Return the texts of a file. Raises InputError for XML of another kind."""
    elements = elements_of(content)
    read_root = KINDS.get(elements[-1].name)
    if read_root is None:
        raise InputError(
            f"XML with the element <{elements[-1].name[:40]}>",
            "XLIFF (<xliff>), Android's strings (<resources>) or TTML (<tt>)",
            "-s input.format=html reads its texts as those of a page",
        )
    return read_root(content, elements, options)


def _xliff(
    content: str, elements: list[Element], options: DocumentOptions
) -> Iterator[DocumentPart]:
    """Yield the sources of the units whose target is missing or empty."""
    is_second = elements[-1].attributes.get("version", "").startswith("2")
    owner, name = ("xliff", "trgLang") if is_second else ("file", "target-language")
    # by the start of their unit: a search in each unit took quadratic time with many sources
    children = defaultdict[int, dict[str, Element]](dict)  # of the units, by their starts
    marks = defaultdict[int, list[Element]](list)  # of the segments in a source
    for one in elements:
        if one.name in ("source", "seg-source", "target"):
            children[one.parent.start][one.name] = one
        elif one.attributes.get("mtype") == "seg":
            marks[next((p.start for p in one.lineage() if p.name == "seg-source"), 0)].append(one)
    for one in elements:
        if options.to and one.name == owner:
            span = one.value_span(content, name)
            attribute = options.to if span else f' {name}="{options.to}"'
            yield language_segment(span or (one.inner - 1, one.inner - 1), attribute)
        unit = one.parent
        is_last = one.name == "source" and one is children[unit.start]["source"]
        if not is_last or unit.name not in ("trans-unit", "segment"):
            continue
        target = children[unit.start].get("target")
        source = children[unit.start].get("seg-source", one)
        if unit.has("translate", "no"):
            yield Kept(one.start, html_page.UNTRANSLATED)
        elif target and _is_translated(content, unit, one, target):
            yield Kept(one.start, TRANSLATED)
        elif inner := [*_sources(content, marks[source.start] or [source])]:
            yield _as_target(content, unit, source, target, inner)


def _is_translated(content: str, unit: Element, source: Element, target: Element) -> bool:
    """Return True for a target with a text that is not that of its source with the state "new"."""
    text, own = (TAG.sub("", content[one.inner : one.close]).strip() for one in (target, source))
    return bool(text) and not (text == own and NEW.search(content, unit.start, target.inner))


def _sources(content: str, elements: Iterable[Element]) -> Iterator[DocumentSegment]:
    for one in elements:
        if data := CDATA.fullmatch(content, one.inner, one.close):
            parts = _in_data(content, *data.span(1))
            yield from (part for part in parts if isinstance(part, DocumentSegment))
        else:
            texts = [_lines] if one.has("xml:space", "preserve") else []
            yield from inline_segments(pieces_of(content, one, CODES, *texts), encode=escaped)


def _in_data(content: str, start: int, end: int) -> Iterable[DocumentPart]:
    """Return the texts of a CDATA section, which is HTML or plain text."""
    if re.compile(r"<[A-Za-z/]|&\w+;").search(content, start, end):
        return html_page.read(content, start=start, end=end)
    return inline_segments([*_lines(content, start, end)])


def _lines(content: str, start: int, end: int) -> Iterator[Piece]:
    def line_break(found: re.Match[str]) -> Piece:
        return Piece("break", *found.span(), found[0], "", "br")

    return pieces_between(content, start, end, LINE_END, line_break)


def _as_target(
    content: str,
    unit: Element,
    source: Element,
    target: Element | None,
    inner: list[DocumentSegment],
) -> DocumentSegment:
    """Return the segment of a target: a copy of its source with the texts translated.

    A segment of XLIFF 2 that has a state is written from there, because it is then translated.
    """
    moved = tuple(one.moved(-source.inner) for one in inner)
    copy = Document(content[source.inner : source.close], moved)
    at = content.rfind("\n", max(0, source.start - WIDEST), source.start)
    before = content[at : source.start] if at >= 0 else ""
    line = "" if before.strip() else before
    prefix = re.compile(r"<(\w+:)?").match(content, source.start)
    name = f"{prefix[1] or '' if prefix else ''}target"
    start, end = (target.start, target.end) if target else (source.end, source.end)
    state = NEW.search(content, unit.start, unit.inner)
    between = DONE + content[state.end() : start] if state else ""

    def write(texts: Texts) -> str:
        rest = iter(texts)
        each = [tuple(next(rest) for _ in one.texts) for one in moved]
        whole = f"{reassemble(copy, each)}</{name}>"
        if target:
            head = content[target.start : target.inner].removesuffix("/>").removesuffix(">")
            return f"{between}{NEW.sub(DONE, head.rstrip())}>{whole}"
        return f"{between}{line}<{name}>{whole}"

    texts = tuple(text for one in inner for text in one.texts)
    return DocumentSegment(state.start() if state else start, end, texts, write)


def _android(
    content: str, elements: list[Element], options: DocumentOptions
) -> Iterator[DocumentPart]:
    for one in elements:
        if one.name not in ANDROID or any(up.name in ANDROID for up in one.parent.lineage()):
            continue
        if one.has("translatable", "false"):
            yield Kept(one.start, html_page.UNTRANSLATED)
            continue
        if data := CDATA.fullmatch(content, one.inner, one.close):
            yield from _in_data(content, *data.span(1))
        else:
            pieces = pieces_of(content, one, frozenset("g"), _android_texts)
            yield from inline_segments(
                pieces,
                encode=lambda text: re.sub(r"([\\'\"])|^([@?])", r"\\\g<0>", escaped(text)),
            )


def _android_texts(content: str, start: int, end: int) -> Iterator[Piece]:
    def escape(found: re.Match[str]) -> Piece:
        span, raw = found.span(), found[0]
        if raw in ('"', "\\n"):
            return Piece("break" if raw == "\\n" else "void", *span, raw, "", "br")
        sign = json.loads(f'"{raw}"') if found["codes"] else found["sign"]  # joins pairs
        return Piece("text", *span, raw, sign)

    return pieces_between(content, start, end, ESCAPE, escape)


def _timed_text(
    content: str, elements: list[Element], options: DocumentOptions
) -> Iterator[DocumentPart]:
    root = elements[-1].attributes.get(LANGUAGE, "")

    def kept(tag: str) -> bool:
        named = html_page.LANGUAGE.search(tag)
        is_other = named is not None and options.leaves(named["value"], root, inline=True)
        return is_other or MARKED.match(tag) is not None

    for one in filter(lambda one: one.name in TIMED_BLOCKS, elements):
        named = (each.attributes.get(LANGUAGE, "") for each in one.lineage())
        if options.leaves(next(filter(None, named), ""), root):
            if one.name == "p":
                yield Kept(one.start, html_page.FOREIGN)
            continue
        if options.to and (span := one.value_span(content, LANGUAGE)):
            yield language_segment(span, options.to)
        if one.name == "p" and one.inner < one.close:
            lines = [*divided(content, TextLine(one.inner, one.close), BREAK)]
            yield from cue_segments(content, lines, TIMED_TAG, escaped, kept)


KINDS: dict[str, Callable[[str, list[Element], DocumentOptions], Iterator[DocumentPart]]] = {
    "xliff": _xliff,
    "resources": _android,
    "tt": _timed_text,
}
