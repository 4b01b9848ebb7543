"""A line taken apart: the plain text for the model, and its markup with where it stood."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

from attncli.markup.attach import attached
from attncli.markup.marks import Kind, Part, scan
from attncli.markup.nest import folded, nested

CLOSING = tuple(".,;:!?…)]}»”’。，、！？；：")


class Mark(NamedTuple):
    """A tag, placeholder or other piece of markup, taken out of a line."""

    kind: Kind  # "open" and "close" in pairs, rightly nested
    raw: str
    at: int  # the character of the text that it stood before
    before: bool  # whether a space, or nothing, was before it
    after: bool  # whether a space, or nothing, was behind it
    breaking: bool  # whether it parts words as a space does
    block: bool  # whether it parts texts: no sentence goes on behind it


class Marked(NamedTuple):
    """A line without its markup, and the markup in order."""

    line: str
    text: str
    marks: tuple[Mark, ...]
    escaped: bool  # whether characters of the text were written as entities

    @property
    def blocks(self) -> list[str]:
        """The text in parts, cut where a paragraph, a list item or the like begins or ends."""
        inner = {mark.at for mark in self.marks if mark.block} - {0, len(self.text)}
        if not inner:
            return [self.text]
        cuts = [0, *sorted(inner), len(self.text)]
        blocks = (self.text[start:end].strip() for start, end in pairwise(cuts))
        return [block for block in blocks if block]


def parse(line: str) -> Marked:
    """Take the markup out of a line."""
    parts = list(scan(line))
    escaped = any(part.kind == "text" and part.raw != part.text for part in parts)
    whole = list(folded(nested(_merged(parts))))
    text, marks = _taken_out(attached(whole, escaped=escaped))
    return Marked(line, text, marks, escaped)


def _merged(parts: list[Part]) -> list[Part]:
    """Neighbouring texts as one: a character and an entity, say."""
    found: list[Part] = []
    texts: list[Part] = []
    for part in [*parts, None]:
        if part and part.kind == "text":
            texts.append(part)
            continue
        if texts:
            raw, text = "".join(t.raw for t in texts), "".join(t.text for t in texts)
            found.append(Part("text", raw, text))
            texts = []
        if part:
            found.append(part)
    return found


def _taken_out(parts: list[Part]) -> tuple[str, tuple[Mark, ...]]:
    text = ""
    marks: list[Mark] = []
    waiting: list[Mark] = []  # those since the last text
    gone = False  # whether a placeholder is among these
    for part in [*parts, Part("text", "", "")]:
        if part.kind != "text":
            before = _is_space(text[-1:]) and not gone
            sorts = part.breaking, part.block
            waiting.append(Mark(part.kind, part.raw, len(text), before, True, *sorts))
            gone |= part.kind == "placeholder"
            continue
        kept = _tail_kept(text, part.text) if gone else text
        last = max((n for n, mark in enumerate(waiting) if mark.kind == "placeholder"), default=0)
        after = _is_space(part.text[:1])
        marks += [
            mark._replace(at=min(mark.at, len(kept)), after=after and number >= last)
            for number, mark in enumerate(waiting)
        ]
        text = kept + _joint(kept, part.text, waiting)
        waiting, gone = [], False
    return text, tuple(_ascending(marks, len(text)))


def _tail_kept(text: str, then: str) -> str:
    """The text without its last spaces, where they stood before a placeholder that is gone."""
    return text.rstrip() if not then or then.startswith(CLOSING) else text


def _joint(text: str, then: str, between: list[Mark]) -> str:
    """What comes next, with one space where markup stood between two words, if any did."""
    if not between:
        return then
    if _is_space(text[-1:]):
        return then.lstrip()
    parted = any(mark.breaking for mark in between)
    return " " + then if parted and not _is_space(then[:1]) else then


def _ascending(marks: list[Mark], most: int) -> list[Mark]:
    """The marks, none behind the next one: spaces before a later one may be gone since."""
    found = []
    for mark in reversed(marks):
        most = min(most, mark.at)
        found.append(mark._replace(at=most))
    return found[::-1]


def _is_space(character: str) -> bool:
    return not character or character.isspace()
