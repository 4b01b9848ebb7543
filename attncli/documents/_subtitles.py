"""Subtitles: SubRip, WebVTT and SubStation Alpha."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from operator import or_
from typing import NamedTuple

from attncli.documents._inline import (
    MARKED,
    Piece,
    PieceKind,
    escaped,
    inline_segment,
    pieces_between,
)
from attncli.documents.document import (
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Kept,
    balanced,
    begins_as_text,
    unescaped,
)
from attncli.faithful.pieces import LINE_END

SPEAKER = re.compile(r"\s*[-–—]\s?(?=\S)")  # one of several people who speak
BRACKETS = ("[]", "()", "♪♪")  # around a sound, a remark or a song
NOTES = re.compile("[♪♫]")
SHORT = 36  # characters that fit on one line: a shorter text was not divided for its width
SENTENCE_END = re.compile(r"[.!?…][\"'”»)]*(?:</\w+>)*\s*$")
OWN_TAG = re.compile(r"\s*(?:<\w|\{\\)")
TAG_END = re.compile(r"</\w+>\s*$")
TAGS = re.compile(r"<[^<>]*>|\{[^{}]*\}")
HARD_BREAK = re.compile(r"\\N")  # of SubStation Alpha; some SubRip files have it, too

# The groups of a tag are `close` and `name`, of a tag of a pair alone.
SRT_TIME = re.compile(r"\s*\d+:[\d:,.]*\s*-->\s*\d+:[\d:,.]*.*")  # also one with a mistake
SRT_TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z]+)(?:\s[^<>]*)?>|\{\\[^{}]*\}|\\[nh]")
VTT_TAG = re.compile(
    r"<(?P<close>/)?(?P<name>[A-Za-z]+)[^<>]*>|<[^<>]*>|&[A-Za-z]+;|&#[xX]?[0-9A-Fa-f]+;"
)
VTT_KEPT = {"NOTE": "notes", "STYLE": "styles", "REGION": "regions"}
ASS_LINE = re.compile(r"^(?P<kind>Format|Dialogue):[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)
# {\i1} and {\i0} are a pair; all other overrides stand for themselves
ASS_TAG = re.compile(r"\{\\(?P<name>[ibus])(?:(?P<close>0)|[1-9]\d{0,2})\}|\{[^{}]*\}|\\[nh]")
BRACES = str.maketrans("{}", "()")
OVERRIDE = re.compile(r"\{[^{}]*\}")
DRAWING = re.compile(r"\\p[1-9]")  # in an override


class TextLine(NamedTuple):
    """A line of the content without its line end."""

    start: int
    end: int


def read_srt(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the text of SubRip subtitles: the lines after the first times, without numbers."""
    lines = lines_of(content)
    texts = [content[line.start : line.end] for line in lines]
    times = [SRT_TIME.fullmatch(text) is not None for text in texts]
    rows = zip(texts, times, [*times[1:], False], accumulate(times, or_), strict=True)
    is_text = [
        begun and not time and not (text.strip().isdigit() and time_follows)
        for text, time, time_follows, begun in rows
    ]
    for run in _text_runs(content, lines, is_text):
        yield from cue_segments(content, run, SRT_TAG, lambda text: text.replace("-->", "->"))


def read_vtt(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the text of WebVTT subtitles; notes are not translated.

    A line with `-->` begins a cue, also without a blank line before it (WebVTT, 6.1).
    """
    lines = lines_of(content)
    for run in _text_runs(content, lines, [True] * len(lines)):
        times = [n for n, line in enumerate(run) if "-->" in content[line.start : line.end]]
        word = content[run[0].start : run[0].end].split()[0]
        if not times and word in VTT_KEPT:
            yield Kept(run[0].start, VTT_KEPT[word])
        for first, behind in pairwise([*times, len(run)]):
            if run[first + 1 : behind]:
                yield from cue_segments(content, run[first + 1 : behind], VTT_TAG, escaped)


def read_ass(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    r"""Yield the texts of the dialogue of SubStation Alpha; `{\i1}`, `\N` and drawings stay."""
    commas = 9  # before the text, unless a format line tells another number
    for found in ASS_LINE.finditer(content):
        if found["kind"] == "Format":
            commas = found["value"].count(",")
            continue
        texts = found["value"].split(",", commas)[commas:]  # none if there are fewer commas
        at = found.end() - len("".join(texts))
        overrides = OVERRIDE.finditer(content, at, found.end())
        if not any(DRAWING.search(one[0]) for one in overrides):
            line = TextLine(at, found.end())
            yield from cue_segments(content, [line], ASS_TAG, lambda text: text.translate(BRACES))


def lines_of(content: str) -> list[TextLine]:
    """Return the lines of a content."""
    return [*divided(content, TextLine(0, len(content)), LINE_END)]


def divided(content: str, line: TextLine, ends: re.Pattern[str]) -> Iterator[TextLine]:
    """Yield the lines of a part of the content that has line ends of this pattern."""
    at = line.start
    for found in ends.finditer(content, *line):
        yield TextLine(at, found.start())
        at = found.end()
    yield TextLine(at, line.end)


def _text_runs(
    content: str, lines: Sequence[TextLine], texts: Sequence[bool]
) -> Iterator[Sequence[TextLine]]:
    """Yield the runs of adjacent lines that are text and not blank."""
    marked = zip(lines, texts, strict=True)
    for is_text, run in groupby(
        marked, lambda one: one[1] and bool(content[one[0].start : one[0].end].strip())
    ):
        if is_text:
            yield [line for line, _ in run]


def cue_segments(
    content: str,
    lines: Sequence[TextLine],
    tag: re.Pattern[str],
    encode: Callable[[str], str],
    kept: Callable[[str], object] = MARKED.match,
) -> Iterator[DocumentSegment]:
    """Yield the segments of the text lines of one subtitle. tag: with groups as `SRT_TAG`.

    kept: see `inline_segment`. Its lines are one text, unless a line ends one: see `_is_apart`. The
    translation of a text is divided into at most as many lines as before.
    """
    lines = [part for line in lines for part in divided(content, line, HARD_BREAK)]
    texts = [content[line.start : line.end] for line in lines]
    in_verse = any(map(NOTES.search, texts))
    starts = [n for n in range(1, len(lines)) if _is_apart(texts[n - 1], texts[n], in_verse)]
    for first, behind in zip([0, *starts], [*starts, len(lines)], strict=True):
        spoken = _spoken(content, lines[first:behind])
        if segment := _segment(content, spoken, tag, encode, kept):
            yield segment


def _is_apart(before: str, text: str, in_verse: bool) -> bool:
    """Return True if a line is not the rest of the line before it.

    It is another text if another person speaks, a sentence has ended, or it has tags of its own; if
    it has a capital, only in a verse, and where both lines are so short that they are divided for
    another reason than their width.
    """
    if SPEAKER.match(text) or SENTENCE_END.search(before) or not before.strip():
        return True
    if TAG_END.search(before) and OWN_TAG.match(text):
        return True
    plain = TAGS.sub("", text)
    return begins_as_text(plain) and (in_verse or len(TAGS.sub("", before) + plain) < SHORT)


def _spoken(content: str, lines: Sequence[TextLine]) -> list[TextLine]:
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


def _segment(
    content: str,
    lines: Sequence[TextLine],
    tag: re.Pattern[str],
    encode: Callable[[str], str],
    kept: Callable[[str], object],
) -> DocumentSegment | None:
    pieces: list[Piece] = []
    for number, line in enumerate(lines):
        if number:
            pieces.append(Piece("text", lines[number - 1].end, line.start, "\n", " "))
        pieces += pieces_between(content, *line, tag, _tag_piece)
    joint = content[lines[0].end : lines[1].start] if len(lines) > 1 else "\n"

    def wrapped(line: str, _: object) -> str:  # tags take no room on the screen
        return "\n".join(balanced(line, len(lines), never_first="[-–—]"))

    segment = inline_segment(pieces, encode=encode, layout=wrapped, kept=kept)
    if segment is None:
        return None
    write = segment.write
    return segment._replace(write=lambda texts: write(texts).replace("\n", joint))


def _tag_piece(found: re.Match[str]) -> Piece:
    if found["name"]:
        kind: PieceKind = "close" if found["close"] else "open"
        return Piece(kind, *found.span(), found[0], "", found["name"].lower())
    if found[0][0] == "&":
        return Piece("text", *found.span(), found[0], unescaped(found[0]))
    return Piece("void", *found.span(), found[0])
