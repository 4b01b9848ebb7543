"""Division of a line into the pieces that a model can read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from attncli.faithful.parse import branches
from attncli.faithful.protect import MARK
from attncli.faithful.spans import has_word, words
from attncli.faithful.split import sentences, split
from models.text.normalise import STOPS, is_spaced_word

if TYPE_CHECKING:
    from attncli.faithful.result import Line
    from models.engines.text_translator import TextTranslator

# between texts of one line: a tab, a bar, the stroke of {price}/month
SEPARATOR = re.compile(
    r"(?<!\s)(\s*\t\s*|\s+\|\s+(?![^{}]{0,200}\}\})|(?<=[\d}])/(?=[a-z]{3,}[.!]?$))"
)
CLOSING = re.compile(r"(?:\s*[)\]\"'»”%])*")  # what belongs to the words before it
LONG_WITHOUT_STOP, LONG = 60, 120  # tokens of a sentence without or with a stop that is divided

Length = Callable[[str], int]  # tokens of a piece with marks


class PlanOptions(NamedTuple):
    """Options of a translation that a plan reads."""

    verbatim: bool = False  # the model reads lines unchanged; only long ones are divided
    long_lines: str = "split"  # treatment of a line that is too long: split or refuse
    cut_above: int = 0  # tokens; a longer sentence is divided at clause marks; 0: the usual limits
    limited: bool = False  # True if the user has set a length at which outputs may be cut


class Reader(NamedTuple):
    """A model that reads pieces, and how long they may be."""

    model: TextTranslator
    options: PlanOptions
    length: Length


def segments(text: str) -> list[str]:
    """Return the texts of a line, with what is between them: texts first, then by turns."""
    return branches(text) or SEPARATOR.split(text)


def too_long(reader: Reader, line: Line, pieces: Sequence[str]) -> str:
    """Return a note if a piece is longer than the model reads; "" otherwise.

    It begins with "copied" if a word without spaces, such as encoded data, is too long.
    """
    model, options, length = reader
    most, longest = model.max_source_length, max(map(length, pieces))
    if longest <= most:
        return ""
    note = f"line {line.number} has {longest} tokens and the model takes {most}"
    if options.long_lines == "refuse" or options.verbatim:
        return note
    words = (word for word in line.text.split() if len(word) >= most // 2)
    if any(is_spaced_word(word) and model.source_length(word) > most for word in words):
        return f"copied {note}; a word without spaces, copied"
    return note


def divided(
    reader: Reader, line: str, whole: Sequence[str], between: Sequence[str], *, must: bool
) -> tuple[list[str], list[str]]:
    """Return pieces of a line, divided at sentence ends and further where the model needs it.

    Also returns what is before each of them, and after the last. whole: the pieces so far. between:
    what is before each and after the last. must: True if one is too long.
    """
    model, options, length = reader
    above = 0 if model.inputs else model.search.split_above  # a row is not text
    # a term that is forced into one sentence must not displace another
    has_terms = not options.verbatim and bool(model.glossary and model.glossary.targets(line))
    if not (must or has_terms or any(0 < above < length(piece) for piece in whole)):
        return [*whole], [*between]
    pieces, gaps = list[str](), [between[0]]
    for piece, gap in zip(whole, between[1:], strict=True):
        cut = has_terms or 0 < above < length(piece)
        for sentence in sentences(piece) if cut else [piece]:
            most = shorter = model.max_source_length
            if not options.verbatim and above:
                usual = LONG if sentence[-1:] in STOPS else LONG_WITHOUT_STOP
                most, shorter = min(options.cut_above or usual, most), min(above, most)
            found = split(sentence, _below(length, most), _below(length, min(shorter, most)))
            pieces += found
            gaps += [" "] * len(found)
        gaps[-1] = gap
    return pieces, gaps


def _below(length: Length, most: int) -> Callable[[str], bool]:
    return lambda piece: length(piece) <= most


def around_marks(text: str) -> tuple[list[str], list[str]]:
    """Return what is before each text around the marks, and after the last; and these texts."""
    ends = (end for found in MARK.finditer(text) for end in found.span())
    cuts = [0, *ends, len(text)]
    gaps, pieces, gap = [], [], ""
    for number, (start, end) in enumerate(pairwise(cuts)):
        piece = text[start:end]
        if number % 2 or not has_word(piece):
            gap += piece
            continue
        spans = words(piece)
        first, last = spans[0][0], spans[-1][1]
        last += len(CLOSING.match(piece, last)[0])  # type: ignore[index]
        gaps.append(gap + piece[:first])
        pieces.append(piece[first:last])
        gap = piece[last:]
    return [*gaps, gap], pieces
