"""Subtitles as blocks of text lines, common to SRT and WebVTT."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from attncli.documents.document import DocumentSegment
from attncli.documents.inline import Piece, PieceKind, inline_segment, text_piece
from attncli.documents.wrap import balanced

SPEAKER = re.compile(r"\s*[-–—]\s?(?=\S)")  # one of several people who speak
BRACKETS = ("[]", "()", "♪♪")  # around a sound, a remark or a song

SENTENCE_END = re.compile(r"[.!?…][\"'”»)]*(?:</\w+>)*\s*$")
LINE_END = re.compile(r"\r\n|\n|\r")


class TextLine(NamedTuple):
    """A line of the content without its line end."""

    start: int
    end: int


def lines_of(content: str) -> list[TextLine]:
    """Return the lines of a content."""
    ends = [*LINE_END.finditer(content)]
    starts = [0, *(found.end() for found in ends)]
    return [*map(TextLine, starts, [*(found.start() for found in ends), len(content)])]


def cue_segments(
    content: str, lines: Sequence[TextLine], tag: re.Pattern[str], encode: Callable[[str], str]
) -> Iterator[DocumentSegment]:
    """Yield the segments of the text lines of one subtitle. tag: as for `_scan`.

    Its lines are one text, unless several people speak or a sentence ends with a line. The
    translation of a text is divided into at most as many lines as before.
    """
    texts = [content[line.start : line.end] for line in lines]
    starts = [
        number
        for number in range(1, len(lines))
        if SPEAKER.match(texts[number]) or SENTENCE_END.search(texts[number - 1])
    ]
    for first, behind in zip([0, *starts], [*starts, len(lines)], strict=True):
        segment = _segment(content, spoken(content, lines[first:behind]), tag, encode)
        if segment:
            yield segment


def spoken(content: str, lines: Sequence[TextLine]) -> list[TextLine]:
    """Return the lines without a speaker's dash, and without brackets around the whole text.

    The model does not read these, so they remain as they are.
    """
    start, end = lines[0].start, lines[-1].end
    if dash := SPEAKER.match(content, start, lines[0].end):
        start = dash.end()
    text = content[start:end].strip()
    if text[:1] + text[-1:] in BRACKETS and len(text) > 2 and text[0] not in text[1:-1]:
        start, end = content.index(text[0], start) + 1, content.rindex(text[-1], start, end)
    moved = list(lines)
    moved[0] = moved[0]._replace(start=start)
    moved[-1] = moved[-1]._replace(end=end)
    return moved


def text_runs(
    content: str, lines: Sequence[TextLine], texts: Sequence[bool]
) -> Iterator[Sequence[TextLine]]:
    """Yield the runs of adjacent lines that are text and not blank."""
    marked = zip(lines, texts, strict=True)
    for is_text, run in groupby(
        marked, lambda one: one[1] and bool(content[one[0].start : one[0].end].strip())
    ):
        if is_text:
            yield [line for line, _ in run]


def _segment(
    content: str, lines: Sequence[TextLine], tag: re.Pattern[str], encode: Callable[[str], str]
) -> DocumentSegment | None:
    pieces: list[Piece] = []
    for number, line in enumerate(lines):
        if number:
            pieces.append(Piece("text", pieces[-1].end, line.start, "\n", " "))
        pieces += _scan(content, line, tag)
    joint = content[lines[0].end : lines[1].start] if len(lines) > 1 else "\n"

    def divided(line: str, _: object) -> str:  # tags take no room on the screen
        return joint.join(balanced(line, len(lines), never_first="[-–—]"))

    return inline_segment(pieces, encode=encode, layout=divided)


def _scan(content: str, line: TextLine, tag: re.Pattern[str]) -> Iterator[Piece]:
    """Yield text, entities, and the tags of a pattern whose groups are `close` and `name`."""
    at, end = line
    for found in tag.finditer(content, at, end):
        if at < found.start():
            yield text_piece(content, at, found.start())
        at = found.end()
        if found["name"]:
            kind: PieceKind = "close" if found["close"] else "open"
            yield Piece(kind, *found.span(), found[0], "", found["name"].lower())
        elif found[0][0] == "&":
            yield Piece("text", *found.span(), found[0], html.unescape(found[0]))
        else:
            yield Piece("void", *found.span(), found[0])
    if at < end:
        yield text_piece(content, at, end)
