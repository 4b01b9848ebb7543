"""Insertion of the tags of a line into its translation.

Spaces follow the source: none between a word and a tag that touched it, one space otherwise.
Entities are used if the source used them. The output has exactly the tags of the source. If the
model writes text that would be read as a tag, the signs of this text become spaces.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator

from attncli.tags.parse import Tag, TaggedLine
from attncli.tags.place import ROOT, PlacedTag, place_tags
from attncli.tags.scan import count
from attncli.tags.spans import WordWeights

SIGNS = re.compile(r"[&<>]")  # characters that tags consist of


def project_tags(tagged: TaggedLine, target: str, weights: WordWeights) -> str:
    """Return a translation of ``tagged.text`` with the tags of the line.

    Where the translation is the text itself, the result is the line.

    weights: for each word of the translation, its attention weights on the words of the text (words
    as in `attncli.tags.words`). An empty dict means that the alignment of the word is unknown.
    """
    if target == tagged.text:
        return tagged.line
    placed = place_tags(tagged, target, weights)
    wanted = Counter(tag.raw for tag in tagged.tags)
    for escaped in (tagged.escaped, True):
        written = _written(placed, target, escaped=escaped)
        if count(written) == wanted:
            return written
    return _written(placed, SIGNS.sub(lambda found: " " * len(found[0]), target), loose=True)


def _written(
    placed: list[PlacedTag], target: str, *, escaped: bool = False, loose: bool = False
) -> str:
    writer = _Writer(escaped=escaped, loose=loose)
    at = 0
    for position, tag in _in_order(placed):
        writer.text(target[at:position])
        writer.tag(tag)
        at = position
    writer.text(target[at:])
    return "".join(writer.written)


class _Writer:
    def __init__(self, *, escaped: bool, loose: bool) -> None:
        self.written: list[str] = []
        self.escaped, self.loose = escaped, loose
        self.last = ""  # last character written that is not part of a tag
        self.joined = False  # True if the next text is written without its leading spaces
        self.spaced = False  # True if the next word is written after a space

    def text(self, text: str) -> None:
        """Write part of the translation."""
        if self.joined:
            text = text.lstrip()
        if not text:
            return
        if self.spaced and (text[0].isalnum() or (self.loose and not text[0].isspace())):
            self.written.append(" ")
        self.written.append(html.escape(text, quote=False) if self.escaped else text)
        self.last, self.joined, self.spaced = text[-1], False, False

    def tag(self, tag: Tag) -> None:
        """Write a tag, with the spaces that belong to it."""
        if tag.breaking and not (tag.before or tag.after or self.loose):
            self.written[-1:] = [text.rstrip() for text in self.written[-1:]]
            self.joined, self.spaced = True, False  # the line break replaces the space next to it
        elif tag.kind == "void":
            if self.last and not self.last.isspace() and (tag.before or self.loose or self.spaced):
                self.written.append(" ")
            self.last, self.spaced = tag.raw[-1], tag.after or self.loose
        self.written.append(tag.raw)


def _in_order(placed: list[PlacedTag]) -> Iterator[tuple[int, Tag]]:
    """Yield all tags with their positions, from left to right, correctly nested."""
    inside: dict[int, list[int]] = {}
    for number, one in enumerate(placed):
        inside.setdefault(one.parent, []).append(number)
    for children in inside.values():
        children.sort(
            key=lambda number: (placed[number].start, placed[number].end, number), reverse=True
        )
    waiting = inside.get(ROOT, [])
    while waiting:
        number = waiting.pop()
        if number < 0:
            closing = placed[~number].closing
            assert closing
            yield placed[~number].end, closing
            continue
        one = placed[number]
        yield one.start, one.opening
        if one.closing:
            waiting.append(~number)
            waiting += inside.get(number, [])
