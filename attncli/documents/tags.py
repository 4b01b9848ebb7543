"""Lines with tags.

A tag is an element tag, a comment, or an entity that stands for a space. All else is text, as are a
lone ``<`` ("3 < 4") and an entity for a visible character, which is read as that character.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from html.entities import html5
from itertools import accumulate, groupby

from attncli.faithful.pieces import Kind, Segment, TaggedLine, tag_counts
from attncli.faithful.protect import FIRST, Part, can_protect, own_parts, protect
from attncli.faithful.spans import has_word
from models.core.limits import LINE_TAGS

NAME = r"(?:[A-Za-z][\w:.-]*|\d+)"
ELEMENT = re.compile(rf"</?({NAME})")
COMMENT = r"<!--(?:(?!<!--|-->).)*-->|<[!?][A-Za-z][^<>]*>"
TAG = re.compile(
    rf"""(?P<tag>{COMMENT}|</?{NAME}(?:[\s=](?:[^"'<>]|"[^"]*"|'[^']*')*)?/?>)|(?P<opaque><%.*?%>)"""
    r"|(?P<entity>&(?:[A-Za-z][A-Za-z0-9]*|\#[0-9]+|\#[xX][0-9A-Fa-f]+);)",
    re.DOTALL,
)
IN_PART = re.compile(r" <[^`<>\n]{1,200}>`|%<PRI[a-zA-Z]\w{1,9}>")  # no tags: reStructuredText, C
OPAQUE_TAG = re.compile(r"<x\d+/>")  # of a document, for what is not translated
VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr")
BLOCK = re.compile("p|div|li|ul|ol|dl|dt|dd|tr|td|th|table|h[1-6]|blockquote|pre|option|hr")
OPAQUE = re.compile("code|kbd|samp|var|script|style|sup|sub|rt|rp")
NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)


def scan(line: str) -> Iterator[Segment]:
    """Yield the tags of a line, and the texts between them; their raw texts joined are the line."""
    at, raw, text = 0, "", ""
    others = {one.end() for one in IN_PART.finditer(line)} if "<" in line else ()
    for found in TAG.finditer(line):
        if found.end() in others or found.end() + 1 in others:
            continue
        between = line[at : found.start()]
        raw, text, at = raw + between, text + between, found.end()
        segment = _segment(found)
        if segment.kind == "text":
            raw, text = raw + segment.raw, text + segment.text
            continue
        if raw:
            yield Segment("text", raw, text)
        raw = text = ""
        yield segment
    if rest := raw + line[at:]:
        yield Segment("text", rest, text + line[at:])


def _segment(found: re.Match[str]) -> Segment:
    raw = found[0]
    if found["entity"]:
        text = _decoded(raw)
        visible = any(unicodedata.category(c)[0] not in "CZ" for c in text)
        tag = Segment("void", raw, breaking=text.isspace())
        return Segment("text", raw, text) if visible else tag
    if found["opaque"] or OPAQUE_TAG.fullmatch(raw):
        return Segment("placeholder", raw)
    named = ELEMENT.match(raw)
    name = named[1].lower() if named else ""
    is_void = raw[1] in "!?" or raw.endswith("/>") or VOID.fullmatch(name)
    is_block = bool(BLOCK.fullmatch(name))
    kind: Kind = "void" if is_void else "close" if raw[1] == "/" else "open"
    return Segment(kind, raw, name=name, block=is_block, breaking=is_block or name == "br")


def _decoded(entity: str) -> str:
    """Return the character of an entity; an unknown entity is returned unchanged."""
    return html.unescape(entity) if entity[1] == "#" else html5.get(entity[1:], entity)


def count(line: str) -> Counter[str]:
    """Return how often each tag of a line occurs."""
    return tag_counts(scan(line))


def has_too_many(line: str) -> bool:
    """Return True if a line has more than LINE_TAGS tags."""
    return len(TAG.findall(line)) > LINE_TAGS


def parse(line: str, unknown: Callable[[str], str] = lambda text: "") -> TaggedLine:
    """Remove the tags from a line, and put marks in place of elements without text to translate.

    unknown: see `attncli.faithful.protect.protect`.
    """
    segments = list(scan(line))
    escaped = any(part.kind == "text" and part.raw != part.text for part in segments)
    parts, marks = own_parts(line)
    segments = [part._replace(text=part.text.translate(marks)) for part in segments]
    found: list[Segment] = []
    folded = _folded(*_paired(segments), unknown)
    for inner, run in groupby(folded, lambda part: part.kind in ("text", "placeholder")):
        if not inner:
            found += run
            continue
        text = ""
        for part in run:
            if part.kind == "placeholder" and can_protect(line):
                text += chr(FIRST + len(parts))
                parts += (Part(part.raw, part.raw),)
            else:
                text += part.text or part.raw
        found.append(Segment("text", text, text))
    text, tags = _taken_out(found)
    return TaggedLine(line, text, tags, escaped, parts)


def _paired(parts: list[Segment]) -> tuple[list[Segment], dict[int, int]]:
    """Return the segments with tags paired by name, and where each element ends.

    The number of the segment after an element is given by the number of its first segment. A tag
    without a partner becomes void. Where two elements overlap, the one opened last is closed first.
    """
    waiting: dict[str, list[int]] = {}  # the opening tags of each name
    closed_by: dict[int, int] = {}  # number of the closing tag by that of the opening one
    for number, part in enumerate(parts):
        if part.kind == "open":
            waiting.setdefault(part.name, []).append(number)
        elif part.kind == "close" and waiting.get(part.name):
            closed_by[waiting[part.name].pop()] = number
    opened_by = {close: begin for begin, close in closed_by.items()}
    found: list[Segment] = []
    ends: dict[int, int] = {}
    inside: dict[int, int] = {}  # the elements open here: opening tag, its place in `found`
    for number, part in enumerate(parts):
        if number in closed_by:
            inside[number] = len(found)
        elif number in opened_by:
            while opened_by[number] in inside:  # False if an outer element closed it
                opening, place = inside.popitem()
                found.append(parts[closed_by[opening]])
                ends[place] = len(found)
            continue
        elif part.kind in ("open", "close"):
            part = part._replace(kind="void")
        found.append(part)
    return found, ends


def _folded(
    parts: list[Segment], ends: dict[int, int], unknown: Callable[[str], str]
) -> Iterator[Segment]:
    """Yield the segments of `_paired`; an element without text to translate is one segment."""
    texts = (protect(part.text, unknown)[0] for part in parts)
    worded = [0, *accumulate(map(has_word, texts))]  # number of segments before
    at = 0
    while at < len(parts):
        part, end = parts[at], at + 1
        opaque = OPAQUE.fullmatch(part.name) or NOT_TRANSLATED.search(part.raw)
        if part.kind == "open" and (opaque or worded[ends[at]] == worded[at]):
            end = ends[at]
            part = Segment("placeholder", "".join(inner.raw for inner in parts[at:end]))
        yield part
        at = end


def _taken_out(segments: list[Segment]) -> tuple[str, tuple[Segment, ...]]:
    """Return the text of segments, and the tags with their places.

    A breaking tag that separated two words leaves one space in the text.
    """
    text = ""
    tags: list[Segment] = []
    waiting: list[Segment] = []  # those since the last text
    for part in [*segments, Segment("text", "", "")]:
        before = _is_space(text[-1:])
        if part.kind != "text":
            waiting.append(part._replace(at=len(text), before=before))
            continue
        after, then = _is_space(part.text[:1]), part.text
        if waiting and before:
            then = then.lstrip()
        elif not after and any(tag.breaking for tag in waiting):
            then = f" {then}"
        text += then
        tags += [tag._replace(after=after) for tag in waiting]
        waiting = []
    return text, tuple(tags)


def _is_space(character: str) -> bool:
    return not character or character.isspace()
