"""Extension of placeholders by punctuation that has no meaning without them.

Without its placeholder, ``"{file}": not found`` would become ``"": not found`` for the model. A
placeholder is therefore extended by

- quotes or brackets around it, and a sign that touches it (``#``, ``%``, currency signs);
- a colon or comma after it, if it begins the line;
- a comma before it, if it ends a clause.

Placeholders with only punctuation between them are merged.
"""

from __future__ import annotations

import html
import re

from attncli.tags.scan import Segment
from attncli.tags.words import has_word

AROUND = dict(zip("\"'([{<«“‘„‚»「『（", "\"')]}>»”’“‘«」』）", strict=True))
SIGNS_BEFORE, SIGNS_BEHIND = "#$€£@=+~*/\\|", "%°*"
LEADING = re.compile(r"\s*[-–—:,;.!?]+(?=\s)")  # after a placeholder that begins the line
TRAILING = re.compile(r",\s*$")  # before a placeholder that ends a clause
CLAUSE_END = re.compile(r"\s*[.!?…]")


def widen_placeholders(parts: list[Segment], *, escaped: bool) -> list[Segment]:
    """Return the segments with extended placeholders; `raw` of text segments becomes invalid."""
    parts = _together(parts)
    worded = [at for at, part in enumerate(parts) if has_word(part.text)]
    first, last = (worded[0], worded[-1]) if worded else (len(parts), -1)
    for at, part in enumerate(parts):
        if part.kind == "placeholder":
            _enlarge(parts, at, begins=at < first, ends=at > last, escaped=escaped)
    return [part for part in parts if part.kind != "text" or part.text]


def _together(parts: list[Segment]) -> list[Segment]:
    joined: list[Segment] = []
    for part in parts:
        joined.append(part)
        size = _size_of_cluster(joined)
        if size > 1:
            joined[-size:] = [Segment("placeholder", "".join(p.raw for p in joined[-size:]))]
    return joined


def _size_of_cluster(parts: list[Segment]) -> int:
    """Return how many of the last segments form one placeholder."""
    kinds = [part.kind for part in parts[-3:]]
    if kinds[-2:] == ["placeholder", "placeholder"]:
        return 2
    if kinds == ["placeholder", "text", "placeholder"] and not has_word(parts[-2].text):
        return 3
    return 1


def _enlarge(parts: list[Segment], at: int, *, begins: bool, ends: bool, escaped: bool) -> None:
    """Move punctuation from the texts beside a placeholder into it.

    begins, ends: True if there is no word before it, or after it.
    """
    left, right = _text(parts, at - 1), _text(parts, at + 1)
    before = behind = ""
    if right and right[0] in SIGNS_BEHIND:
        behind, right = right[0], right[1:]
    while left and right and AROUND.get(left[-1]) == right[0]:
        before, behind = left[-1] + before, behind + right[0]
        left, right = left[:-1], right[1:]
    if left and left[-1] in SIGNS_BEFORE:
        before, left = left[-1] + before, left[:-1]
    if begins and (found := LEADING.match(right)):
        behind, right = behind + found[0], right[found.end() :]
    elif (found := TRAILING.search(left)) and (ends or CLAUSE_END.match(right)):
        before, left = found[0] + before, left[: found.start()]
    _set_text(parts, at - 1, left)
    _set_text(parts, at + 1, right)
    if escaped:
        before, behind = html.escape(before), html.escape(behind)
    parts[at] = Segment("placeholder", before + parts[at].raw + behind)


def _text(parts: list[Segment], at: int) -> str:
    return parts[at].text if 0 <= at < len(parts) else ""


def _set_text(parts: list[Segment], at: int, text: str) -> None:
    if 0 <= at < len(parts) and parts[at].kind == "text":
        parts[at] = parts[at]._replace(text=text)
