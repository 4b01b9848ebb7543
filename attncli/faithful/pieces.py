"""Pieces of a line: texts, tags and parts; an annex reads and writes the tags of a format.

Without that annex a line is one text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, pairwise
from typing import Literal, NamedTuple

from attncli.faithful.protect import Part
from models.core.annexes import find_part
from models.core.types import Span

Kind = Literal["text", "open", "close", "void", "placeholder"]
LINE_END = re.compile(r"\r\n|\n|\r")
MARKUP = re.compile(r"<[^<>]*>|\{[^{}\s]*\}")  # tags and placeholders of any format: no words


class Segment(NamedTuple):
    """Part of a line: text, or one tag; of a tag that was taken out of the text, its place."""

    kind: Kind  # of the tags of a `TaggedLine`, "open" and "close" are in pairs, rightly nested
    raw: str  # as in the line
    text: str = ""  # of text: with its entities decoded
    at: int = 0  # index in the text of the character that followed a tag
    before: bool = True  # True if a space, or nothing, was before it
    after: bool = True  # True if a space, or nothing, was after it
    name: str = ""  # of an element tag, in lower case
    block: bool = False  # True for the tag of a block, behind which no sentence continues
    breaking: bool = False  # True for a tag that separates words: a line break, a block, a space


class TaggedLine(NamedTuple):
    """A line, its text without tags, and its tags in order."""

    line: str
    text: str
    tags: tuple[Segment, ...]
    escaped: bool  # True if characters of the text were written as entities
    parts: tuple[Part, ...] = ()  # protected ones, which have marks in the text

    @property
    def has_inner(self) -> bool:
        """True if a tag is inside the text, and not only around it."""
        first = len(self.text) - len(self.text.lstrip())
        last = len(self.text.rstrip())
        return any(first < tag.at < last for tag in self.tags)

    def changed(
        self, change: Callable[[str], str], spans: Sequence[Span]
    ) -> tuple[TaggedLine, list[Span]]:
        """Return the line with some spans of its text changed, and where these then are.

        A span is changed tag by tag, so that the tags in it keep their places.
        """
        text, last, ends = "", 0, dict(spans)
        at = {0: 0}  # the new position of each old one
        places = {0, len(self.text), *chain(*spans), *(tag.at for tag in self.tags)}
        for start, end in pairwise(sorted(places)):
            last = ends.get(start, last)
            text += change(self.text[start:end]) if start < last else self.text[start:end]
            at[end] = len(text)
        tags = tuple(tag._replace(at=at[tag.at]) for tag in self.tags)
        return self._replace(text=text, tags=tags), [(at[start], at[end]) for start, end in spans]


def scanned(line: str) -> list[Segment]:
    """Return the tags of a line and the texts between them; the raw texts joined are the line."""
    tags = find_part("tags", "reader")
    return [*tags.scan(line)] if tags else [Segment("text", line, line)]


def tag_counts(segments: Iterable[Segment]) -> Counter[str]:
    """Return how often each tag occurs."""
    return Counter(part.raw for part in segments if part.kind != "text")
