"""Division of a line into the pieces that a model can read, and of texts into sentences."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from attncli.faithful.protect import MARK
from attncli.faithful.spans import has_word, words
from models.core.limits import SPLIT_MARKS
from models.text.normalise import ABBREVIATION, STOPS, is_spaced_word

if TYPE_CHECKING:
    from attncli.faithful.result import Line
    from models.engines.text_translator import TextTranslator

# between texts of one line: a tab, a bar, the stroke behind a number or a mark, as in {x}/month;
# spaces need a word before them, or a run of 20,000 of them takes 1.66 s
SEPARATOR = re.compile(
    r"(?<!\s)(\s*\t\s*|\s+\|\s+(?![^{}]{0,200}\}\})|(?<=[\d\ue000-\uf8ff])/(?=[a-z]{3,}[.!]?$))"
)
CLOSING = re.compile(r"(?:\s*[)\]\"'»”%])*")  # what belongs to the words before it
LONG_WITHOUT_STOP, LONG = 60, 120  # tokens of a sentence without or with a stop that is divided

CLOSED = "[\"'”’»›)\\]」』）】]*"
SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]+{CLOSED}\s+|[。！？]+{CLOSED}\s*")
NO_END = re.compile(
    r"(?:^|[\s(])(?:\w|\d+|Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr|No|Nr|vs|etc|e\.g|i\.e|z\.\s?B|bzw|ca|M|Mme)\.$"
)  # a period that ends no sentence
# a bounded look back keeps the division linear in the length of a line
LONGEST_WORD = 40  # characters before a period
CLAUSE_END = re.compile(rf"[,;:]{CLOSED}\s+|[，；：、]{CLOSED}\s*")
CONJUNCTION = re.compile(
    r"(?<!\s)\s+(?=(?:and|but|because|so|then|when|while|which|or|if|after|before|und|aber|weil|dass|denn|dann"
    r"|wenn|oder|während|nachdem|bevor|et|mais|parce|car|puis|quand|ou|si|donc|y|pero|porque|entonces"
    r"|cuando|o|así)\s)"
)
SPACE = re.compile(r"\s+")

Fits = Callable[[str], bool]
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
        last += bool(ABBREVIATION.search(piece[first : last + 1]))  # a.m. has its stop
        last += len(CLOSING.match(piece, last)[0])  # type: ignore[index]
        gaps.append(gap + piece[:first])
        pieces.append(piece[first:last])
        gap = piece[last:]
    return [*gaps, gap], pieces


def split(text: str, fits: Fits, fits_cut: Fits | None = None) -> list[str]:
    """Return the parts of a text in order. Each part fits, unless it is a single character.

    fits_cut: stricter condition for the parts of a text that is cut between two characters.
    """
    if fits(text):
        return [text]
    cuts = [0, *(found.end() for found in SENTENCE_END.finditer(text)), len(text)]
    sentences = _strip_each(text[start:end] for start, end in pairwise(cuts))
    return [part for sentence in sentences for part in _halved(sentence, fits, fits_cut or fits)]


def sentences(text: str) -> list[str]:
    """Return the sentences of a text. No sentence ends after an abbreviation or an initial."""
    parts, start = [], 0
    for match in SENTENCE_END.finditer(text):
        end = match.end()
        last = text[max(start, match.start() - LONGEST_WORD) : end].rstrip()
        # no sentence begins with a small letter, whatever is before it
        if not NO_END.search(last) and not text[end : end + 1].islower():
            parts.append(text[start:end])
            start = end
    return _strip_each([*parts, text[start:]])


def _halved(text: str, fits: Fits, fits_cut: Fits) -> list[str]:
    if fits(text) or len(text) < 2:
        return [text]
    middle = _boundary(text)
    if not middle:
        middle, fits = _between_characters(text), fits_cut
    parts = _strip_each([text[:middle], text[middle:]])
    return [half for part in parts for half in _halved(part, fits, fits_cut)]


def halves(text: str) -> list[str]:
    """Return the two parts of a text, divided at the strongest boundary near its middle."""
    middle = _boundary(text)
    return _strip_each([text[:middle], text[middle:]]) if middle else [text]


def _boundary(text: str) -> int:
    """Return the end of the strongest kind of boundary, the one nearest to the middle; 0 if none.

    The strongest kind is a clause mark, then a conjunction in the middle half, then a space.
    """
    half = len(text) // 2
    for boundary in (CLAUSE_END, CONJUNCTION, SPACE):
        ends = [match.end() for match in boundary.finditer(text) if match.end() < len(text)]
        if boundary is CONJUNCTION:
            # a conjunction near an end would cut off a word or two
            ends = [end for end in ends if half / 2 < end < half * 3 / 2]
        if ends:
            return min(ends, key=lambda end: abs(end - half))
    return 0


def _between_characters(text: str) -> int:
    """Return the position between two characters that is nearest to the middle."""
    half = len(text) // 2
    for cut in range(half, min(half + SPLIT_MARKS, len(text) - 1)):
        if not unicodedata.combining(text[cut]):  # an accent stays with its letter
            return cut
    return half if half + SPLIT_MARKS < len(text) else len(text) - 1


def _strip_each(texts: Iterable[str]) -> list[str]:
    return [text.strip() for text in texts if text.strip()]
