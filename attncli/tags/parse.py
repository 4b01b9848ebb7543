"""Lines with tags, and messages with branches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from attncli.tags.protect import FIRST, MARK, UNKNOWN, Languages, Part, protect
from attncli.tags.scan import Kind, Segment, scan
from attncli.tags.spans import has_word

# ICU messages: each branch of a plural or a choice is a text, together with what is around it.
#
#     "You have {n, plural, one {# file} other {# files}}." has the texts "You have # file." and
#     "You have # files."; it is written as {n, plural, one {...} other {...}}, which is the same.
#
# Source: Unicode Technical Standard 35, part 9 (MessageFormat).


HEAD = re.compile(r"\{\s*[\w-]+\s*,\s*(?:plural|select|selectordinal)\s*,(?:\s*offset:\d+)?")
BRANCH = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
END = re.compile(r"\s*\}")
MOST = 16  # branches of a text; several messages in it multiply them


def branches(text: str) -> list[str]:
    """Return the texts of a message, with its syntax between them, before and after.

    Texts and syntax alternate; the first and the last text are empty. Empty for other texts, and
    for a message with errors or too many branches.
    """
    found = _divided(text) if "," in text and HEAD.search(text) else []
    return found if len(found) // 2 - 1 <= MOST else []


def _divided(text: str) -> list[str]:
    head = HEAD.search(text)
    if not head:
        return [text]
    before, at = text[: head.start()], head.end()
    spans = []
    while branch := BRANCH.match(text, at):
        end = _closing(text, branch.end())
        spans.append((at, branch.end(), end))
        at = end + 1
    last = END.match(text, at)
    if not spans or not last or len(spans) > MOST:
        return []
    found, syntax = [""], head[0]
    for start, inner, end in spans:
        each = _divided(before + text[inner:end] + text[last.end() :])
        if not each or len(found) + len(each) > 4 * MOST:
            return []
        found += [syntax + text[start:inner], *each]
        syntax = "}"
    return [*found, "}" + last[0], ""]


def _closing(text: str, at: int) -> int:
    """Return the index of the brace that closes one opened before an index; the end without it."""
    depth = 1
    for found in re.compile(r"[{}]").finditer(text, at):
        depth += 1 if found[0] == "{" else -1
        if not depth:
            return found.start()
    return len(text)


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
    parts: tuple[Part, ...] = ()  # protected ones, which have marks in the text

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


def parse(
    line: str,
    unknown: Callable[[str], str] = lambda text: "",
    languages: Languages = UNKNOWN,
) -> TaggedLine:
    """Remove the tags from a line, and put marks in place of its protected parts.

    unknown: see `attncli.tags.protect.protect`.
    """
    segments = list(scan(line))
    escaped = any(part.kind == "text" and part.raw != part.text for part in segments)
    whole = list(_folded(*_paired(_merged(segments)), unknown))
    parts: tuple[Part, ...] = ()
    found: list[Segment] = []
    has_marks = bool(MARK.search(line))
    for inner, run in groupby(whole, lambda part: part.kind in ("text", "placeholder")):
        if not inner:
            found += run
            continue
        text = ""
        for part in run:
            if part.kind == "placeholder" and not has_marks:
                text += chr(FIRST + len(parts))
                parts += (Part(part.raw, part.raw),)
            else:
                text += part.text or part.raw
        text, parts = protect(text, unknown, languages, more=parts, escaped=escaped)
        found.append(Segment("text", text, text))
    text, tags = _taken_out(found)
    return TaggedLine(line, text, tags, escaped, parts)


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


def _folded(
    parts: list[Segment], ends: dict[int, int], unknown: Callable[[str], str]
) -> Iterator[Segment]:
    """Yield the segments of `_paired`; an element without text to translate is one segment."""
    texts = (protect(part.text, unknown).text for part in parts)
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


def _taken_out(segments: list[Segment]) -> tuple[str, tuple[Tag, ...]]:
    text = ""
    tags: list[Tag] = []
    waiting: list[Tag] = []  # those since the last text
    for part in [*segments, Segment("text", "", "")]:
        if part.kind != "text":
            before = _is_space(text[-1:])
            sorts = part.breaking, part.block
            waiting.append(Tag(part.kind, part.raw, len(text), before, True, *sorts))
            continue
        after = _is_space(part.text[:1])
        tags += [tag._replace(after=after) for tag in waiting]
        text += _joint(text, part.text, waiting)
        waiting = []
    return text, tuple(tags)


def _joint(text: str, then: str, between: list[Tag]) -> str:
    """Return the next text, with one space if a breaking tag separated two words."""
    if not between:
        return then
    if _is_space(text[-1:]):
        return then.lstrip()
    parted = any(tag.breaking for tag in between)
    return " " + then if parted and not _is_space(then[:1]) else then


def _is_space(character: str) -> bool:
    return not character or character.isspace()
