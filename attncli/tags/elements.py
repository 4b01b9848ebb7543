"""Pairing and nesting of tags, and folding of elements that are not translated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate

from attncli.tags.scan import Segment
from attncli.tags.words import has_word

OPAQUE = re.compile("code|kbd|samp|var|script|style|sup|sub")
NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)


def pair_tags(parts: list[Segment]) -> list[Segment]:
    """Return the segments with tags paired by name; a tag without a partner becomes void.

    Where two elements overlap, the one opened last is closed first.
    """
    closed_by = _pairs(parts)
    opened_by = {close: begin for begin, close in closed_by.items()}
    found: list[Segment] = []
    inside: list[int] = []  # the elements open here
    still_open: set[int] = set()
    for number, part in enumerate(parts):
        if number in closed_by:
            inside.append(number)
            still_open.add(number)
        elif number in opened_by:
            while opened_by[number] in still_open:  # False if an outer element closed it
                still_open.discard(inside[-1])
                found.append(parts[closed_by[inside.pop()]])
            continue
        elif part.kind in ("open", "close"):
            part = part._replace(kind="void")
        found.append(part)
    return found


def fold_untranslated(parts: list[Segment]) -> Iterator[Segment]:
    """Yield the segments of a nested line; an element without text to translate is one segment."""
    ends = _ends(parts)
    worded = [0, *accumulate(has_word(part.text) for part in parts)]  # number of segments before
    at = 0
    while at < len(parts):
        part, end = parts[at], at + 1
        opaque = OPAQUE.fullmatch(part.name) or NOT_TRANSLATED.search(part.raw)
        if part.kind == "open" and (opaque or worded[ends[at]] == worded[at]):
            end = ends[at]
            part = Segment("placeholder", "".join(inner.raw for inner in parts[at:end]))
        yield part
        at = end


def _pairs(parts: list[Segment]) -> dict[int, int]:
    """Return the number of the closing segment by the number of the opening one."""
    waiting: dict[str, list[int]] = {}
    pairs = {}
    for number, part in enumerate(parts):
        if part.kind == "open":
            waiting.setdefault(part.name, []).append(number)
        elif part.kind == "close" and waiting.get(part.name):
            pairs[waiting[part.name].pop()] = number
    return pairs


def _ends(parts: list[Segment]) -> dict[int, int]:
    """Return, for each opening tag of nested segments, the number after its closing tag."""
    inside: list[int] = []
    ends = {}
    for number, part in enumerate(parts):
        if part.kind == "open":
            inside.append(number)
        elif part.kind == "close":
            ends[inside.pop()] = number + 1
    return ends
