"""Separation of a line into plain text for the model and tags with their positions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise
from typing import NamedTuple

from attncli.tags.elements import fold_untranslated, pair_tags
from attncli.tags.placeholders import widen_placeholders
from attncli.tags.scan import Kind, Segment, scan

CLOSING = tuple(".,;:!?…)]}»”’。，、！？；：")


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
    whole = list(fold_untranslated(pair_tags(_merged(parts))))
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
