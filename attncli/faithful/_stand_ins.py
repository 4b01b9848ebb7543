"""Stand-ins: what a model reads in the place of protected parts, and their return.

A model with reserved tokens reads the marks themselves, counted from the first one in each text.
Another model reads the part; a number in braces where the part is long, or has a character
without a token.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import TYPE_CHECKING

from attncli.faithful.protect import FIRST, MARK, Part
from attncli.faithful.spans import Edit

if TYPE_CHECKING:
    from models.engines.text_translator import TextTranslator

LONGEST = 100  # characters of a part that a model without reserved tokens reads itself
StandIns = Mapping[str, str]  # by mark, in the order of the text


def readable(
    text: str, parts: Sequence[Part], model: TextTranslator
) -> tuple[str, StandIns, list[Edit]]:
    """Return a text with stand-ins in place of its marks, these stand-ins, and where they are.

    The stand-ins are spaced from words that touch their part.
    """
    marks = [*dict.fromkeys(MARK.findall(text))] if parts else []
    marks = [mark for mark in marks if ord(mark) - FIRST < len(parts)]
    if not marks:
        return text, {}, []
    tokens = len(marks) <= model.reserved
    numbers = count(1)
    found = {
        mark: chr(FIRST + n) if tokens else _written(parts[ord(mark) - FIRST], numbers, model)
        for n, mark in enumerate(marks)
    }
    read, edits, at = "", list[Edit](), 0
    for place in MARK.finditer(text):
        mark = place[0]
        if mark not in found:
            continue
        part = parts[ord(mark) - FIRST]
        read += text[at : place.start()]
        form = " " * part.before + found[mark] + " " * part.after
        edits.append(Edit(len(read), len(read) + len(form), mark))
        read, at = read + form, place.end()
    return read + text[at:], found, edits


def _written(part: Part, numbers: count[int], model: TextTranslator) -> str:
    """Return the raw text of a part, or a number that the model has tokens for."""
    if len(part.raw) <= LONGEST and not model.unknown_characters(part.raw):
        return part.raw
    number = next(numbers)
    return next(
        (form for form in (f"{{{number}}}", f"Q{number}") if not model.unknown_characters(form)),
        str(90 + number),
    )


def marked(output: str, parts: Sequence[Part], found: StandIns) -> tuple[str, list[Edit]]:
    """Return an output with marks in place of its stand-ins, and where these were."""
    if not found:
        return output, []
    waiting: dict[str, list[str]] = {}  # marks of each text that may stand for one
    for mark, form in found.items():
        part = parts[ord(mark) - FIRST]
        for text in dict.fromkeys((form, part.shown) if form == part.raw else (form,)):
            waiting.setdefault(text, []).append(mark)
    written, edits, at = "", list[Edit](), 0
    for place in _finder(tuple(waiting)).finditer(output):
        marks = waiting[place[0]]
        mark = marks.pop(0) if len(marks) > 1 else marks[0]
        part, (start, end) = parts[ord(mark) - FIRST], place.span()
        if part.before and re.search(r"\w $", output[max(0, start - 2) : start]):
            start -= 1
        if part.after and re.match(r" \w", output[end : end + 2]):
            end += 1
        written += output[at:start] + mark
        edits.append(Edit(start, end, mark))
        at = end
    return written + output[at:], edits


@cache
def _finder(forms: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern of stand-ins; one that begins or ends with a letter is no part of a word."""

    def whole(form: str) -> str:
        left, right = (r"(?<!\w)" * form[0].isalnum(), r"(?!\w)" * form[-1].isalnum())
        return left + re.escape(form) + right

    return re.compile("|".join(map(whole, sorted(forms, key=len, reverse=True))))
