"""Separation of a line into plain text for the model and tags with their positions.

Tags are paired and nested; an element that is not translated becomes one tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from attncli.tags.placeholders import widen_placeholders
from attncli.tags.scan import Kind, Segment, scan
from attncli.tags.words import has_word

CLOSING = tuple(".,;:!?…)]}»”’。，、！？；：")
OPAQUE = re.compile("code|kbd|samp|var|script|style|sup|sub")
NOT_TRANSLATED = re.compile(r"""\stranslate\s*=\s*["']?no\b""", re.IGNORECASE)


class Tag(NamedTuple):
    """A tag removed from a line."""

    kind: Kind  # "open" and "close" in pairs, rightly nested
    raw: str
    at: int  # index in the text of the character that followed it
    before: bool  # True if a space, or nothing, was before it
    after: bool  # True if a space, or nothing, was after it
    breaking: bool  # True if it separates words as a space does
    block: bool  # True if it separates texts: no sentence continues after it


class TaggedLine(NamedTuple):
    """A line, its text without tags, and its tags in order."""

    line: str
    text: str
    tags: tuple[Tag, ...]
    escaped: bool  # True if characters of the text were written as entities

    @property
    def blocks(self) -> list[str]:
        """Return the text split where a paragraph, a list item or another block begins or ends."""
        inner = {tag.at for tag in self.tags if tag.block} - {0, len(self.text)}
        if not inner:
            return [self.text]
        cuts = [0, *sorted(inner), len(self.text)]
        blocks = (self.text[start:end].strip() for start, end in pairwise(cuts))
        return [block for block in blocks if block]

    def changed(self, change: Callable[[str], str]) -> TaggedLine:
        """Return the line with each span of text between tags changed; tags keep their places."""
        text, at = "", {0: 0}  # at: old position of a tag to its new one
        for start, end in pairwise(sorted({0, len(self.text), *(tag.at for tag in self.tags)})):
            text += change(self.text[start:end])
            at[end] = len(text)
        tags = tuple(tag._replace(at=at[tag.at]) for tag in self.tags)
        return self._replace(text=text, tags=tags)


def parse(line: str) -> TaggedLine:
    """Remove the tags from a line."""
    parts = list(scan(line))
    escaped = any(part.kind == "text" and part.raw != part.text for part in parts)
    whole = list(_folded(*_paired(_merged(parts))))
    text, tags = _taken_out(widen_placeholders(whole, escaped=escaped))
    return TaggedLine(line, text, tags, escaped)


def _merged(parts: list[Segment]) -> list[Segment]:
    """Merge neighbouring text segments, such as a character and an entity."""
    found: list[Segment] = []
    for is_text, run in groupby(parts, lambda part: part.kind == "text"):
        same = list(run)
        if is_text:
            same = [Segment("text", "".join(t.raw for t in same), "".join(t.text for t in same))]
        found += same
    return found


def _paired(parts: list[Segment]) -> tuple[list[Segment], dict[int, int]]:
    """Return the segments with tags paired by name, and where each element ends.

    The number of the segment after an element is given by the number of its first segment. A tag
    without a partner becomes void. Where two elements overlap, the one opened last is closed first.
    """
    closed_by = _pairs(parts)
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


def _folded(parts: list[Segment], ends: dict[int, int]) -> Iterator[Segment]:
    """Yield the segments of `_paired`; an element without text to translate is one segment."""
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


def _taken_out(parts: list[Segment]) -> tuple[str, tuple[Tag, ...]]:
    text = ""
    tags: list[Tag] = []
    waiting: list[Tag] = []  # those since the last text
    gone = False  # whether a placeholder is among these
    for part in [*parts, Segment("text", "", "")]:
        if part.kind != "text":
            before = _is_space(text[-1:]) and not gone
            sorts = part.breaking, part.block
            waiting.append(Tag(part.kind, part.raw, len(text), before, True, *sorts))
            gone |= part.kind == "placeholder"
            continue
        ends = gone and (not part.text or part.text.startswith(CLOSING))
        kept = text.rstrip() if ends else text  # without the spaces before a removed placeholder
        last = max((n for n, tag in enumerate(waiting) if tag.kind == "placeholder"), default=0)
        after = _is_space(part.text[:1])
        tags += [
            tag._replace(at=min(tag.at, len(kept)), after=after and number >= last)
            for number, tag in enumerate(waiting)
        ]
        text = kept + _joint(kept, part.text, waiting)
        waiting, gone = [], False
    return text, tuple(_ascending(tags, len(text)))


def _joint(text: str, then: str, between: list[Tag]) -> str:
    """Return the next text, with one space if a breaking tag separated two words."""
    if not between:
        return then
    if _is_space(text[-1:]):
        return then.lstrip()
    parted = any(tag.breaking for tag in between)
    return " " + then if parted and not _is_space(then[:1]) else then


def _ascending(tags: list[Tag], most: int) -> list[Tag]:
    """Return the tags with ascending positions; removed spaces may have shifted a later one."""
    found = []
    for tag in reversed(tags):
        most = min(most, tag.at)
        found.append(tag._replace(at=most))
    return found[::-1]


def _is_space(character: str) -> bool:
    return not character or character.isspace()
