"""Stand-ins: what a model reads in the place of protected parts, and their return."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from itertools import count
from typing import NamedTuple

from attncli.tags.numbers import ALONE
from attncli.tags.protect import FIRST, MARK, Part, restore
from models.base.types import Span, Translation

PLAIN_NUMBERS = ("27", "28", "31", "32", "24", "26", "29", "64", "86", "47")
ENDING = re.compile(r"(?<=\d)(?:st|nd|rd|th|[.eº])$")  # of an ordinal, which the output keeps
QUANTITY = r"[-−–+±$€£¥₹]?\d[^:]*"
NO_FORMS: Mapping[str, tuple[str, ...]] = {}
FAMILIES = (1, 0, 2)  # ways to write stand-ins, in the order of further attempts
AS_SHOWN = 3  # the family that leaves numbers and quantities in the text, as the output has them


class Edit(NamedTuple):
    """A span of a text as the model reads or writes it, which a mark stands for."""

    start: int
    end: int
    mark: str
    size: int = 1  # characters that stand there instead


def shifted(spans: Sequence[Span], edits: Sequence[Edit]) -> list[Span]:
    """Return spans of a text as the model has it as spans of the text with marks."""
    if not edits:
        return [*spans]
    return [(_shifted(start, edits), _shifted(end, edits, is_end=True)) for start, end in spans]


def _shifted(position: int, edits: Sequence[Edit], *, is_end: bool = False) -> int:
    removed = 0
    for start, end, _, size in edits:
        if position <= start:
            break
        if position < end:
            return start - removed + size * is_end
        removed += end - start - size
    return position - removed


class MarkedTranslation(NamedTuple):
    """A translation of a text with marks."""

    text: str  # with marks
    translation: Translation  # of the text with stand-ins
    outputs: tuple[str, ...]  # with marks, one for each hypothesis
    stand_ins: tuple[tuple[str, str, str], ...] = ()  # each with its part, as in source and output
    source_edits: tuple[Edit, ...] = ()  # where the stand-ins are in the source,
    edits: tuple[tuple[Edit, ...], ...] = ()  # and in each hypothesis

    def without_marks(self, parts: Sequence[Part], first: int) -> MarkedTranslation:
        """Return the translation with the parts from `first` on in place of their marks."""
        written = partial(restore, parts=parts, first=first)
        read = partial(written, source=True)

        def sized(edits: Sequence[Edit], form: Callable[[str], str]) -> tuple[Edit, ...]:
            return tuple(edit._replace(size=len(form(edit.mark))) for edit in edits)

        return self._replace(
            text=read(self.text),
            outputs=tuple(map(written, self.outputs)),
            source_edits=sized(self.source_edits, read),
            edits=tuple(sized(edits, written) for edits in self.edits),
        )


class Reading(NamedTuple):
    """A text as the model reads it: with stand-ins."""

    text: str
    marks: dict[str, str]  # mark: its stand-in
    edits: tuple[Edit, ...]  # spans of the stand-ins

    def marked(
        self, output: str, parts: Sequence[Part], forms: Mapping[str, tuple[str, ...]] = NO_FORMS
    ) -> tuple[str, tuple[Edit, ...]]:
        """Return an output with marks in place of its stand-ins, and their spans in the output.

        forms: see `number_forms`; a number with another form than these gets the first.
        """
        edits = [*self._stand_ins_in(output, parts)] if self.marks else []
        for found in ALONE.finditer(output) if forms else ():
            known = forms.get(re.sub(r"\D", "", found[0]), (found[0],))
            if found[0] not in known:
                edits.append(Edit(*found.span(), known[0], len(known[0])))
        text, at = "", 0
        for start, end, mark, _ in sorted(edits):
            text += output[at:start] + mark
            at = end
        return text + output[at:], tuple(sorted(edits))

    def _stand_ins_in(self, output: str, parts: Sequence[Part]) -> Iterator[Edit]:
        texts = [ENDING.sub("", stand_in) for stand_in in self.marks.values()]
        by_text = dict(zip(map(_plain_form, texts), self.marks, strict=True))
        for found in _finder(tuple(texts)).finditer(output):
            mark = by_text[_plain_form(found[0])]
            part, start, end = parts[ord(mark) - FIRST], *found.span()
            if part.before and re.search(r"\w $", output[max(0, start - 2) : start]):
                start -= 1
            if part.after and re.match(r" \w", output[end : end + 2]):
                end += 1
            yield Edit(start, end, mark)


def stand_ins(text: str, parts: Sequence[Part], family: int) -> Reading:
    """Return a text with stand-ins in place of its marks. family: of the stand-ins, from 0."""
    if not parts or not MARK.search(text):
        return Reading(text, {}, ())
    numbers = count(1)
    plain = (number for number in PLAIN_NUMBERS if number not in text)
    marks: dict[str, str] = {}
    edits, written, at = [], "", 0
    for found in MARK.finditer(text):
        mark, start = found[0], found.start()
        if mark not in marks and ord(mark) - FIRST < len(parts):
            part = parts[ord(mark) - FIRST]
            first = family == 0 or (part.is_number and family == 1)  # family 1 is tried first
            own = part.reads if first and part.reads not in marks.values() else ""
            if family == AS_SHOWN and re.fullmatch(QUANTITY, part.shown):
                shown = re.sub(r"\s", " ", part.shown)
                own = "" if shown in marks.values() else shown
            if not own:
                number = next(numbers)
                fits = part.is_number == (family == 0) and family < 2 and not part.by_digits
                own = next(plain, "") if fits else ""
                own = own or (f"Q{number}" if family == 2 else f"{{{number}}}")
            marks[mark] = own
        part = parts[ord(mark) - FIRST]
        spaced = not marks[mark].isdigit()
        written += text[at:start]
        written_as = " " * (part.before and spaced) + marks[mark] + " " * (part.after and spaced)
        edits.append(Edit(len(written), len(written) + len(written_as), mark))
        written += written_as
        at = found.end()
    return Reading(written + text[at:], marks, tuple(edits))


def _plain_form(found: str) -> str:
    """Return a stand-in as a model read it: without spaces or capitals, and 17 h 30 as 17:30."""
    time = re.fullmatch(r"(\d+)\s?[h:]\s?(\d\d)?(?: Uhr)?", found)
    return f"{time[1]}:{time[2] or '00'}" if time else re.sub(r"\s", "", found).lower()


@cache
def _finder(stand_ins: tuple[str, ...]) -> re.Pattern[str]:
    patterns = []
    for one in sorted(stand_ins, key=len, reverse=True):
        if one[0] == "{":
            patterns.append(rf"\{{ ?{one[1:-1]} ?\}}")
        elif ":" in one:
            hour, minutes = one.split(":")
            full = "" if minutes != "00" else "?"
            form = rf"{hour}(?::{minutes}(?: Uhr\b)?|\s?h(?:\s?{minutes}){full})"
            patterns.append(rf"(?<![\d:]){form}(?![\d:])")
        elif one.isdigit():
            patterns.append(rf"(?<!\d)(?<!\d[.,:/]){one}(?!\d|[.,:/]\d)")
        else:
            form = r"\s?".join(map(re.escape, one.split()))  # 50 Km/h
            patterns.append(rf"(?<!\w)(?i:{form})(?!\w)")
    return re.compile("|".join(patterns))
