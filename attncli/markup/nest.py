"""Tags in pairs, rightly nested; elements that the model is not to see, as one placeholder."""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.markup.marks import Part
from attncli.markup.words import has_word

OPAQUE = re.compile("code|kbd|samp|var|script|style")
NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)


def nested(parts: list[Part]) -> list[Part]:
    """The parts with tags paired by name; a tag without a partner becomes void.

    Where two elements overlap, the one opened last is closed first.
    """
    closed_by = _pairs(parts)
    opened_by = {close: begin for begin, close in closed_by.items()}
    found: list[Part] = []
    inside: list[int] = []  # the elements open here
    for number, part in enumerate(parts):
        if number in closed_by:
            inside.append(number)
        elif number in opened_by:
            while opened_by[number] in inside:  # not there: it was closed with an outer one
                found.append(parts[closed_by[inside.pop()]])
            continue
        elif part.kind in ("open", "close"):
            part = part._replace(kind="void")
        found.append(part)
    return found


def folded(parts: list[Part]) -> Iterator[Part]:
    """The parts of a nested line, with each element that has nothing to translate as one."""
    at = 0
    while at < len(parts):
        part, end = parts[at], at + 1
        if part.kind == "open":
            inside = parts[at : _end(parts, at)]
            if _is_opaque(part) or not any(has_word(inner.text) for inner in inside):
                part, end = Part("placeholder", "".join(p.raw for p in inside)), at + len(inside)
        yield part
        at = end


def _pairs(parts: list[Part]) -> dict[int, int]:
    """Which tag is closed by which: the numbers of the parts."""
    waiting: dict[str, list[int]] = {}
    pairs = {}
    for number, part in enumerate(parts):
        if part.kind == "open":
            waiting.setdefault(part.name, []).append(number)
        elif part.kind == "close" and waiting.get(part.name):
            pairs[waiting[part.name].pop()] = number
    return pairs


def _end(parts: list[Part], at: int) -> int:
    """Where the element that opens here is over."""
    depth = 0
    for end in range(at, len(parts)):
        depth += {"open": 1, "close": -1}.get(parts[end].kind, 0)
        if not depth:
            return end + 1
    raise AssertionError("an open tag has a close tag: `nested` makes others void")


def _is_opaque(part: Part) -> bool:
    return bool(OPAQUE.fullmatch(part.name) or NOT_TRANSLATED.search(part.raw))
