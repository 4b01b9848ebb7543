"""The pieces of a line: each output begins and ends as its source does, and nothing is told twice.

A line is divided at separators, at sentence ends, at clause marks, and around what a model loses.
A model reads each piece as a sentence, so it writes a capital before it and a stop behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from attncli.faithful.numbers import HOURS_ALONE, with_hours
from attncli.faithful.protect import MARK
from models.core.types import Hypothesis
from models.text.normalise import ABBREVIATION, STOPS, without_added_stop

OPENING = re.compile(r"(\W*)([^\W\d_]+)")  # the first word; protected parts may be before it
RUN = re.compile(r"[!?](?:\s?[!?])*")  # of signs, perhaps with spaces between
# quotations and brackets with their ends; a sign that opens one; the end of one behind a text
PAIRED = re.compile(r'„[^„“”]*[“”]|“[^“”]*”|«[^«»]*»|\([^()]*\)|\[[^\[\]]*\]|"[^"]*"')
OPEN = re.compile(r'[„“«(\["]')
CLOSED = re.compile(r'[)\]»”“"]([.!?…]*)$')
END_OF = dict(zip('„“«(["', '“”»)]"', strict=True))
LAST = re.compile(r"\s*([^\W\d_]+)$")


class Fitting(NamedTuple):
    """Changes of outputs."""

    ends: bool  # the last piece also loses a stop that its source does not have
    capitals: bool  # a piece that begins with a capital keeps it
    is_small: Callable[[str], bool]  # returns True for a word that has a small letter in a sentence
    to: str = ""  # language of the outputs, if it is known
    shown: Callable[[str], str] = str  # returns a text with the parts of its marks
    open: bool = False  # the stop of the last source is none of the line


def joined(gaps: Sequence[str], texts: Sequence[str]) -> str:
    """Join texts and what is between them; the space before an empty text is left out."""
    whole = ""
    for gap, text in zip(gaps, texts, strict=False):
        whole += (gap if text or gap.strip() else "") + text if whole or gap.strip() else gap + text
    return whole + gaps[-1]


def concatenated(parts: Sequence[Hypothesis]) -> Hypothesis:
    """Join outputs; add up their log-probabilities, average their scores."""
    if len(parts) == 1:
        return parts[0]
    return Hypothesis(
        text=" ".join(part.text for part in parts if part.text),
        score=sum(part.score for part in parts) / len(parts),
        log_prob=sum(part.log_prob for part in parts),
        tokens=tuple(token for part in parts for token in part.tokens),
        ids=tuple(id for part in parts for id in part.ids),
        truncated=any(part.truncated for part in parts),
    )


def fitted(
    gaps: Sequence[str], sources: Sequence[str], outputs: Sequence[str], form: Fitting
) -> list[str]:
    """Return outputs that begin and end as their sources; gaps: before each, and last."""
    found: list[str] = []
    for number, (source, output) in enumerate(zip(sources, outputs, strict=True)):
        before, gap = (sources[number - 1] if number else ""), gaps[number]
        text = with_hours(with_signs(output, source), form.to, source, form.shown)
        is_last = number + 1 == len(sources)
        if form.ends or not is_last:
            text = _with_stop(text, source, form, is_open=form.open and is_last)
        inside = bool(number or gap.strip())
        starts = not before or before.endswith(STOPS) or bool(gap.strip())
        text = _in_case(text, source, form, inside=inside, starts=starts)
        if number and gap == " ":
            found[-1] = _without_echo(found[-1], text, before, source)
        found.append(text)
    return found


def _with_stop(output: str, source: str, form: Fitting, *, is_open: bool) -> str:
    """Return an output with a full stop only if its source has one; that of 9 a.m. is none.

    is_open: True if the stop of the source, behind a.m. or p.m., does not end a sentence.
    """
    if is_open or HOURS_ALONE.fullmatch(form.shown(source)):
        if ABBREVIATION.search(form.shown(output)):
            return output
        source = source.removesuffix(".")
    return without_added_stop(output, source)


def _in_case(output: str, source: str, form: Fitting, *, inside: bool, starts: bool) -> str:
    """Return an output whose first word has a capital only if that of its source has one.

    inside: True if something is before it in the line. starts: True if no sentence goes on in it.
    """
    first, own = OPENING.match(output), OPENING.match(source)
    if not first or not own or first[2][1:].isupper():
        return output
    is_marked, was_marked = MARK.search(first[1]), MARK.search(own[1])
    if bool(is_marked) != bool(was_marked):
        return output
    at, letter = first.start(2), first[2][0]
    if (
        own[2][0].islower()
        and letter.isupper()
        and (inside or is_marked)
        and form.is_small(first[2])
    ):
        return output[:at] + letter.lower() + output[at + 1 :]
    if own[2][0].isupper() and letter.islower() and starts and form.capitals and not is_marked:
        return output[:at] + letter.upper() + output[at + 1 :]
    return output


def _without_echo(before: str, after: str, before_source: str, source: str) -> str:
    """Return an output without a last word that the next piece begins with, as in "and and"."""
    last, first = LAST.search(before), OPENING.match(after)
    if not last or not first or first[1] or last[1].casefold() != first[2].casefold():
        return before
    own_last, own_first = LAST.search(before_source), OPENING.match(source)
    repeated = own_last and own_first and own_last[1].casefold() == own_first[2].casefold()
    return before if repeated else before[: last.start()]


def with_signs(output: str, source: str) -> str:
    """Return an output with the runs of signs, and the end of a quotation, of its source."""
    return _with_end(_with_runs(output.lstrip(), source), source)


def _with_end(output: str, source: str) -> str:
    """Return an output whose last quotation or bracket is closed if that of its source is."""
    if "‘" in output and "’" not in output:  # the model reads ’ as an apostrophe
        output = re.sub(r"(?<=\S)'(?!\w)", "’", output)
    closed, open = CLOSED.search(source), OPEN.findall(PAIRED.sub("", output))
    if not closed or len(open) != 1 or OPEN.search(PAIRED.sub("", source)):
        return output
    if (open[0] in "([") != (closed[0][0] in ")]"):
        return output
    inner = output.rstrip(".!?…") if closed[1] else output
    space = " " if f"{open[0]} " in output else ""
    return f"{inner}{space}{END_OF[open[0]]}{output[len(inner) :]}"


def _with_runs(output: str, source: str) -> str:
    """Return an output whose runs of `!` and `?` are as long as those of its source."""
    wanted, found = RUN.findall(source), [*RUN.finditer(output)]
    if len(wanted) != len(found) or all(len(one) == 1 for one in (*wanted, *(f[0] for f in found))):
        return output
    runs = iter(wanted)
    return RUN.sub(lambda run: next(runs), output)
