"""The pieces of a line: each output begins and ends as its source does, and nothing is told twice.

A line is divided at separators, at sentence ends, at clause marks, and around what a model loses.
A model reads each piece as a sentence, so it writes a capital before it and a stop behind it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from attncli.tags.protect import MARK
from attncli.tags.stand_ins import MarkedTranslation
from models.text.normalise import STOPS, without_added_stop

FIRST = re.compile(r"(\W*)([^\W\d_]+)")  # the first word; protected parts may be before it
LAST = re.compile(r"\s*([^\W\d_]+)$")


class Fitting(NamedTuple):
    """Changes of outputs."""

    ends: bool  # the last piece also loses a stop that its source does not have
    capitals: bool  # a piece that begins with a capital keeps it
    is_small: Callable[[str], bool]  # returns True for a word that has a small letter in a sentence


def joined(gaps: Sequence[str], texts: Sequence[str]) -> str:
    """Join texts and what is between them; the space before an empty text is left out."""
    whole = ""
    for gap, text in zip(gaps, texts, strict=False):
        whole += (gap if text or gap.strip() else "") + text if whole or gap.strip() else gap + text
    return whole + gaps[-1]


def fitted(
    gaps: Sequence[str], pieces: Sequence[MarkedTranslation], form: Fitting
) -> tuple[MarkedTranslation, ...]:
    """Return the pieces of a line whose outputs begin and end as their sources do.

    gaps: what is before each piece, and after the last.
    """
    found: list[MarkedTranslation] = []
    for number, piece in enumerate(pieces):
        last = number + 1 == len(pieces)
        before, gap = (pieces[number - 1].text if number else ""), gaps[number]
        outputs = piece.outputs
        if form.ends or not last:
            outputs = tuple(without_added_stop(one, piece.text) for one in outputs)
        inside = bool(number or gap.strip())
        starts = not before or before.endswith(STOPS) or bool(gap.strip())
        outputs = tuple(
            _in_case(one, piece.text, form, inside=inside, starts=starts) for one in outputs
        )
        if number and gap == " ":
            ends = zip(found[-1].outputs, outputs, strict=False)
            cut = tuple(_without_echo(*each, before, piece.text) for each in ends)
            found[-1] = found[-1]._replace(outputs=cut + found[-1].outputs[len(cut) :])
        found.append(piece._replace(outputs=outputs))
    return tuple(found)


def _in_case(output: str, source: str, form: Fitting, *, inside: bool, starts: bool) -> str:
    """Return an output whose first word has a capital only if that of its source has one.

    inside: True if something is before it in the line. starts: True if no sentence goes on in it.
    """
    first, own = FIRST.match(output), FIRST.match(source)
    if not first or not own or first[2][1:].isupper():
        return output
    marked, was_marked = MARK.search(first[1]), MARK.search(own[1])
    if bool(marked) != bool(was_marked):
        return output
    at, letter = first.start(2), first[2][0]
    if own[2][0].islower() and letter.isupper() and (inside or marked) and form.is_small(first[2]):
        return output[:at] + letter.lower() + output[at + 1 :]
    if own[2][0].isupper() and letter.islower() and starts and form.capitals and not marked:
        return output[:at] + letter.upper() + output[at + 1 :]
    return output


def _without_echo(before: str, after: str, before_source: str, source: str) -> str:
    """Return an output without a last word that the next piece begins with, as in "and and"."""
    last, first = LAST.search(before), FIRST.match(after)
    if not last or not first or first[1] or last[1].casefold() != first[2].casefold():
        return before
    own_last, own_first = LAST.search(before_source), FIRST.match(source)
    repeated = own_last and own_first and own_last[1].casefold() == own_first[2].casefold()
    return before if repeated else before[: last.start()]
