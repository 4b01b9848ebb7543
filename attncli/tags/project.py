"""The translation of a line with the line's markup in it.

Spaces stay as the source had them: tight where a tag touched its word, and one where it did not.
Text is written with entities if the source was. Whatever the model wrote, what comes out has the
markup that went in and no other: where text of the model would read as markup (a placeholder that
it made up), its braces and percent signs become spaces.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from attncli.tags.parse import Tag, TaggedLine
from attncli.tags.place import ROOT, PlacedTag, place_tags
from attncli.tags.scan import count
from attncli.tags.spans import WordWeights

SIGNS = re.compile(r"[{}%$#&<>]|(?<=http)s?:")  # what markup of all kinds is made with


def project_tags(tagged: TaggedLine, target: str, looks: WordWeights) -> str:
    """A translation of ``tagged.text`` with the tags of the line.

    ``looks`` has, for each word of the translation, how much it looks at which word of the text;
    words are those of ``markup.words``. An empty look stands for not knowing.
    """
    placed = place_tags(tagged, target, looks)
    wanted = count(tagged.line)
    written = _written(placed, target, escaped=tagged.escaped)
    if count(written) == wanted:
        return written
    written = _written(placed, target, escaped=True)
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
        self.last = ""  # the last character that is not a tag's
        self.joined = False  # whether the next text goes without the space it begins with
        self.spaced = False  # whether the next word goes with a space before it

    def text(self, text: str) -> None:
        """A stretch of the translation."""
        if self.joined:
            text = text.lstrip()
        if not text:
            return
        if self.spaced and (text[0].isalnum() or (self.loose and not text[0].isspace())):
            self.written.append(" ")
        self.written.append(html.escape(text, quote=False) if self.escaped else text)
        self.last, self.joined, self.spaced = text[-1], False, False

    def tag(self, tag: Tag) -> None:
        """A piece of markup, with the spaces that are its own."""
        if tag.breaking and not (tag.before or tag.after or self.loose):
            self._join()
        elif tag.kind in ("void", "placeholder"):
            self._space(tag)
        self.written.append(tag.raw)

    def _join(self) -> None:
        """A line break stands for the space it was put in for."""
        if self.written:
            self.written[-1] = self.written[-1].rstrip()
        self.joined, self.spaced = True, False

    def _space(self, tag: Tag) -> None:
        if self.last and not self.last.isspace() and (tag.before or self.loose or self.spaced):
            self.written.append(" ")
        self.last, self.spaced = tag.raw[-1], tag.after or self.loose


def _in_order(placed: list[PlacedTag]) -> Iterator[tuple[int, Tag]]:
    """All tags with their characters, from left to right, rightly nested."""
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
