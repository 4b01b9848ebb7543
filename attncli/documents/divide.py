r"""Division of a paragraph into the texts that belong apart.

A break (``<br>``, ``w:br``, a hard break of Markdown) ends a text if what follows begins as a text
does: with a capital, a digit, a dash, a note, or tags of its own. Otherwise the texts on both sides
are one. A tab and `` | `` always end a text. Elements with nothing but spaces between them, such as
a row of links, are texts of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from attncli.documents.document import (
    Document,
    DocumentSegment,
    begins_as_text,
    continues,
    has_letters,
)
from attncli.documents.inline import (
    LineLayout,
    Piece,
    fold,
    inline_segment,
    nest,
    on_one_line,
    text_piece,
)

PLACEHOLDER = "\0"  # stands for one
TAB, BAR = "tab", "bar"  # names of breaks that always end a text
LINKS = ("a", "link", "button", "option", "label")
BETWEEN = re.compile(r"(?<!\s)\s+\|\s+(?![^{}]{0,200}\}\})")  # the parts of a title
BETWEEN_OR_TAB = re.compile(rf"{BETWEEN.pattern}|(?<! )[ ]*\t[ ]*")


def inline_segments(
    pieces: Sequence[Piece],
    *,
    encode: Callable[[str], str] = str,
    layout: LineLayout = on_one_line,
    tabs: bool = False,
) -> list[DocumentSegment]:
    """Return the segments of a paragraph, of which each is one text; see `inline_segment`.

    tabs: True if a tab in a text separates texts; where it is but white space, False.
    """
    parts = divide(fold(pieces), tabs=tabs)
    found = (inline_segment(part, encode=encode, layout=layout) for part in parts if part)
    return [segment for segment in found if segment]


def read_lines(content: str) -> Document:
    """Return the lines of a plain text."""
    lines = re.finditer(r"[^\r\n]+", content)
    pieces = ([text_piece(content, *line.span())] for line in lines)
    segments = [segment for each in pieces for segment in inline_segments(each, tabs=True)]
    return Document(content, tuple(segments))


def divide(pieces: Sequence[Piece], *, tabs: bool) -> list[list[Piece]]:
    """Return the texts of a paragraph, each as its pieces."""
    found: list[list[Piece]] = []
    for part in _at_breaks([one for piece in pieces for one in _separated(piece, tabs)]):
        found += _at_elements(part)
    return found


def _separated(piece: Piece, tabs: bool) -> Iterator[Piece]:
    """Yield a piece, or a text and the separators in it as breaks."""
    at = 0
    if (
        piece.kind == "text"
        and piece.text == piece.raw
        and len(piece.raw) == piece.end - piece.start
    ):
        for found in (BETWEEN_OR_TAB if tabs else BETWEEN).finditer(piece.raw):
            yield _part(piece, at, found.start())
            name = TAB if "\t" in found[0] else BAR
            start, end = (piece.start + n for n in found.span())
            yield Piece("break", start, end, found[0], "", name)
            at = found.end()
    yield _part(piece, at, len(piece.raw)) if at else piece


def _part(piece: Piece, start: int, end: int) -> Piece:
    raw = piece.raw[start:end]
    return piece._replace(start=piece.start + start, end=piece.start + end, raw=raw, text=raw)


def _at_breaks(pieces: Sequence[Piece]) -> list[list[Piece]]:
    """Return the pieces, divided at each break that ends a text."""
    parts: list[list[Piece]] = [[]]
    breaks: list[Piece] = []  # between the last two parts
    for piece in pieces:
        if piece.kind == "break":
            parts.append([])
            breaks.append(piece)
        else:
            parts[-1].append(piece)
    found = [parts[0]]
    for mark, part in zip(breaks, parts[1:], strict=True):
        if _ends_text(found[-1], mark, part):
            found.append(part)
        else:
            found[-1] = [*found[-1], mark, *part]
    return found


def _ends_text(before: Sequence[Piece], mark: Piece, part: Sequence[Piece]) -> bool:
    if mark.name in (TAB, BAR):
        return True
    return not continues(_text(before), _text(part)) or _is_one_element(part)


def _is_one_element(pieces: Sequence[Piece]) -> bool:
    """Return True if some pieces are one element, and spaces around it."""
    inner = [piece for piece in pieces if piece.kind != "text" or piece.text.strip()]
    found, partners = nest(inner)
    return bool(found) and partners.get(0) == len(found) - 1


def _at_elements(pieces: list[Piece]) -> list[list[Piece]]:
    """Return each element with words apart, if there are only spaces or signs between them.

    Without a space, they are apart if they are links, or if the second begins as a text does.
    """
    nested, partners = nest(pieces)
    starts: list[int] = []  # of the outermost elements with words
    at, gaps = 0, [""]  # the texts around these
    while at < len(nested):
        end = partners.get(at, at) + 1
        if end > at + 1 and has_letters(_text(nested[at:end])):
            starts.append(at)
            gaps.append("")
        else:
            gaps[-1] += _text(nested[at:end])
        at = end
    glued = [
        n
        for n, gap in zip(starts[1:], gaps[1:], strict=False)
        if not gap and not (nested[n].name in LINKS or begins_as_text(_text(nested[n:][:2])))
    ]
    if len(starts) < 2 or glued or any(map(_is_worded, gaps)):
        return [pieces]
    cuts = [0, *starts[1:], len(pieces)]
    return [pieces[start:end] for start, end in pairwise(cuts)]


def _is_worded(text: str) -> bool:
    return has_letters(text) or PLACEHOLDER in text


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(PLACEHOLDER if piece.kind == "placeholder" else piece.text for piece in pieces)
