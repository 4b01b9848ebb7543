"""Segments of running text with inline markup, as pieces of the content.

A format divides a paragraph, a heading or a subtitle into pieces without gaps. The pieces become
one line of text with neutral tags, as in XLIFF: ``<g1>`` and ``</g1>`` for a pair, ``<x2/>`` for a
single tag, ``<br id=3/>`` (U+001F is its space) for a line break, ``{§4}`` for an element in place
of words. The tags of the translation are then replaced by the markup of the content.

A break (``<br>``, ``w:br``, a hard break of Markdown) ends a text if what follows begins as a text
does: with a capital, a digit, a dash, a note, or tags of its own. A tab and `` | `` always end one.
Elements with nothing but spaces between them, such as a row of links, are texts of their own.
"""

from __future__ import annotations

import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate, count, pairwise
from operator import itemgetter
from typing import Literal, NamedTuple

from attncli.documents.document import (
    Document,
    DocumentSegment,
    Texts,
    Width,
    begins_as_text,
    collected,
    continues,
    has_letters,
    unescaped,
)

PieceKind = Literal["text", "open", "close", "void", "placeholder", "break"]
NEUTRAL = {"open": "<g{}>", "close": "</g{}>", "void": "<x{}/>", "break": "<br\x1fid={}/>"}
LineLayout = Callable[[str, Width], str]
OPAQUE = re.compile(
    "code|kbd|samp|var|tt|sup|sub|rt|rp"
)  # elements whose content is not translated
MARKED = re.compile(r"<[^<>]*\s(?:translate\s*=\s*[\"']?no\b|class\s*=[^<>=]*\bnotranslate\b)")
TIMED = re.compile(r"<(?:\d+:)?\d+:[\d.]+>|<[^<>]*\sbegin\s*=|\{\\[kK][fo]?\d")  # VTT, TTML, ASS
SPACES = re.compile(r"[ \t\r\n]+")
BULLETS = re.compile(r"(?:(?:[-–—•·*♪♫>]+|\[[ xX]\])(?:\s+|$))*")  # before the text
NOTE_END = re.compile(r"(?<!\s)\s+[♪♫]+$")  # after the text
TAGS = re.compile(r"</?[gx]\d+/?>|<br\x1fid=\d+/>")  # neutral ones
BREAK = re.compile(r"<br\x1fid=\d+/>")
EMPTY = re.compile(rf"<g(?P<number>\d+)>(?P<inner>(?:\s|<x\d+/>|{BREAK.pattern})*)</g(?P=number)>")
PLACEHOLDER = "\0"  # stands for one
TAB, BAR = "tab", "bar"  # names of breaks that always end a text
LINKS = ("a", "link", "button", "option", "label")
BETWEEN = re.compile(r"(?<!\s)\s+\|\s+(?![^{}]{0,200}\}\})")  # the parts of a title
BETWEEN_OR_TAB = re.compile(rf"{BETWEEN.pattern}|(?<! )[ ]*\t[ ]*")
LONGEST = 100  # characters of a word that is moved into an element
WORD = r"[^\s<>{}]*[^\W_][^\s<>{}]*"
escaped = partial(html.escape, quote=False)


class Piece(NamedTuple):
    """Part of a paragraph: text, or one piece of markup."""

    kind: PieceKind
    start: int  # span of the content
    end: int
    raw: str  # what is written for markup; of text, its characters in the content
    text: str = ""  # of text: with entities decoded
    name: str = ""  # of an element tag, in lower case

    @property
    def rewritten(self) -> bool:
        """True for what is written otherwise than it is read, such as ``[text]`` of Markdown."""
        return len(self.raw) != self.end - self.start


def text_piece(content: str, start: int, end: int) -> Piece:
    """Return a piece of text that is written as it is read."""
    raw = content[start:end]
    return Piece("text", start, end, raw, raw)


def pieces_between(
    content: str,
    start: int,
    end: int,
    pattern: re.Pattern[str],
    piece_of: Callable[[re.Match[str]], Piece],
) -> Iterator[Piece]:
    """Yield the pieces of a span: of each match of a pattern, and of the text between them."""
    at = start
    for found in pattern.finditer(content, start, end):
        if at < found.start():
            yield text_piece(content, at, found.start())
        yield piece_of(found)
        at = found.end()
    if at < end:
        yield text_piece(content, at, end)


def on_one_line(line: str, width: Width) -> str:
    """Return the same line; the layout of a segment without line breaks."""
    return line


def inline_segment(
    pieces: Sequence[Piece],
    *,
    encode: Callable[[str], str] = str,
    layout: LineLayout = on_one_line,
    kept: Callable[[str], object] = MARKED.match,
) -> DocumentSegment | None:
    """Return the segment of some adjacent pieces; None if they have no letters.

    Markup and spaces at its ends do not belong to the segment. encode: write translated text in the
    syntax of the document. layout: insert line breaks into the line with neutral tags; it is given
    the line and a function that returns the width of a word with its markup. kept: tells of a tag
    that its element is not translated.
    """
    inner = trim(*nest(fold(pieces, kept)))
    if not any(piece.kind == "text" and has_letters(piece.text) for piece in inner):
        return None
    codes = Codes(inner)

    def write(translated: Texts) -> str:
        line = codes.in_time(translated[0])
        line = layout(line, lambda word: len(codes.restore(word, encode)))
        return codes.restore(line, encode)

    return DocumentSegment(inner[0].start, inner[-1].end, (codes.line,), write)


class Codes:
    """A line with neutral tags, numbered in order, and the markup for which they stand."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        texts = "".join(piece.text for piece in pieces)
        # one sign more than the text has, so that no text is taken for a placeholder
        mark = "§" * (1 + max(map(len, re.findall(r"\{(§*)", texts)), default=0))
        self.pattern = rf"(</?[gx]\d+/?>|<br\x1fid=\d+/>|\{{{mark}\d+\}})"
        self.raws: dict[str, str] = {}
        numbers, inside = count(), list[int]()
        line = ""
        for piece in pieces:
            if piece.kind == "text":
                line += escaped(piece.text)
                continue
            number = inside.pop() if piece.kind == "close" else next(numbers)
            if piece.kind == "open":
                inside.append(number)
            tag = NEUTRAL.get(piece.kind, "{{" + mark + "{}}}").format(number)
            self.raws[tag] = piece.raw
            line += tag
        self.line = SPACES.sub(" ", line)

    def in_time(self, line: str) -> str:
        """Return a line without empty elements, in which those with a time keep their order."""
        found = [*re.finditer(self.pattern, line)]
        at = {tag[0]: tag.start() for tag in reversed(found)}  # the first of each
        # karaoke and captions are shown by their times, whatever the order of the words
        timed = [tag for tag in self.raws if TIMED.match(self.raws[tag]) and tag in at]
        if not timed:
            return with_lines(with_words(line, self.line))
        if EMPTY.search(line) and len(TAGS.findall(line)) == 2 * len(timed):
            parts = zip(timed, _shares(TAGS.sub("", line).split(), len(timed)), strict=True)
            return " ".join(f"{tag}{' '.join(part)}</{tag[1:]}" for tag, part in parts)
        moved = sorted(timed, key=lambda tag: (tag[1], at[tag]))  # elements, then others
        new = dict(zip(moved, sorted(timed, key=itemgetter(1)), strict=True))
        new |= {f"</{old[1:]}": f"</{tag[1:]}" for old, tag in new.items() if tag[1] == "g"}
        return re.sub(self.pattern, lambda tag: new.get(tag[0], tag[0]), line)

    def restore(self, line: str, encode: Callable[[str], str]) -> str:
        """Return a line with the markup of the document, and its text encoded."""
        parts = re.split(self.pattern, line)
        parts[::2] = [encode(unescaped(text)) for text in parts[::2]]
        parts[1::2] = [self.raws[tag] for tag in parts[1::2]]
        return "".join(parts)


def with_words(line: str, source: str) -> str:
    """Return a line with neutral tags in which no element that had words is empty.

    It gets the word beside it; without one, its words of the source.
    """
    empty = {found["number"] for found in EMPTY.finditer(source)}
    for found in EMPTY.finditer(line):
        if (number := found["number"]) in empty:
            continue
        was = re.search(f"<g{number}>(.*?)</g{number}>", source)
        words = TAGS.sub("", was[1]) if was else ""
        if not has_letters(words):
            continue
        before, _, behind = line.partition(found[0])
        if word := re.match(rf"\s*({WORD})", behind):
            words, behind = word[0].lstrip(), behind[word.end() :]
            before += word[0][: -len(words)] if before else ""
        elif word := re.search(rf"{WORD}\s*$", before[-LONGEST:]):
            words, before = word[0].rstrip(), before[: -len(word[0])]
        line = f"{before}<g{number}>{words}{found['inner'].strip()}</g{number}>{behind}"
    return line


def with_lines(line: str) -> str:
    """Return a line with neutral tags in which nothing is empty between two line breaks."""
    texts, breaks = BREAK.split(line), BREAK.findall(line)
    if not breaks or all(TAGS.sub("", text).strip() for text in texts):
        return line
    words = " ".join(filter(None, map(str.strip, texts))).split(" ")
    count = min(len(breaks) + 1, len(words))
    lines = map(" ".join, _shares(words, count))
    return "".join(map("".join, zip(lines, [*breaks[: count - 1], ""], strict=True)))


def _shares(words: list[str], count: int) -> list[list[str]]:
    """Return the words as so many lists of about the same length, in their order."""
    cuts = [round(number * len(words) / count) for number in range(count + 1)]
    return [words[start:end] for start, end in pairwise(cuts)]


def fold(pieces: Sequence[Piece], kept: Callable[[str], object] = MARKED.match) -> list[Piece]:
    """Return the pieces with each element that is not translated as one placeholder."""
    found: list[Piece] = []
    ends, at = _opaque_ends(pieces, kept), 0
    while at < len(pieces):
        piece, end = pieces[at], ends.get(at)
        if end:
            raw = "".join(one.raw for one in pieces[at:end])
            piece = Piece("placeholder", piece.start, pieces[end - 1].end, raw)
        found.append(piece)
        at = end or at + 1
    return found


def nest(pieces: Sequence[Piece]) -> tuple[list[Piece], dict[int, int]]:
    """Return the pieces with nested pairs, and the number of the partner of each tag of a pair.

    A tag without a partner becomes void.
    """
    found, partners = list(pieces), dict[int, int]()
    # counts by name, or a closing tag without a partner would search all open elements
    inside, opened = list[int](), Counter[str]()  # the open elements, and how many of each name
    for number, piece in enumerate(pieces):
        if piece.kind == "open":
            inside.append(number)
            opened[piece.name] += 1
        elif piece.kind == "close":
            if not opened[piece.name]:
                found[number] = piece._replace(kind="void")
                continue
            while found[last := inside.pop()].name != piece.name:
                opened[found[last].name] -= 1
                found[last] = found[last]._replace(kind="void")
            opened[piece.name] -= 1
            partners[last], partners[number] = number, last
    for number in inside:
        found[number] = found[number]._replace(kind="void")
    return found, partners


def trim(pieces: Sequence[Piece], partner: Mapping[int, int]) -> list[Piece]:
    """Return nested pieces without the markup, spaces and bullets at their ends.

    Removed are tags around the whole text, and elements without words at its start or end.
    """
    is_worded = (
        piece.kind == "placeholder" or (piece.kind == "text" and has_letters(piece.text))
        for piece in pieces
    )
    # running sums, so that each element is judged in constant time
    worded = [0, *accumulate(is_worded)]
    found, first, behind, size = list(pieces), 0, len(pieces), -1
    while first < behind and size != behind - first:
        size = behind - first
        if _is_blank(found[first]):
            first += 1
        elif _is_blank(found[behind - 1]):
            behind -= 1
        elif partner.get(first) == behind - 1 and not found[behind - 1].rewritten:
            first, behind = first + 1, behind - 1
        elif found[first].kind == "open" and worded[partner[first] + 1] == worded[first]:
            first = partner[first] + 1
        elif found[behind - 1].kind == "close" and worded[behind] == worded[partner[behind - 1]]:
            behind = partner[behind - 1]
        else:
            found[first] = _without_edge(found[first], at_end=False)
            if _is_blank(found[first]):
                first += 1
    if first < behind:
        found[behind - 1] = _without_edge(found[behind - 1], at_end=True)
    return found[first:behind]


def _is_blank(piece: Piece) -> bool:
    return piece.kind in ("void", "break") or (piece.kind == "text" and not piece.text.strip())


def _without_edge(piece: Piece, *, at_end: bool) -> Piece:
    """Return a text without the spaces and the bullet at its start, or the notes at its end."""
    if piece.kind != "text" or piece.raw != piece.text:
        return piece
    if at_end:
        text = NOTE_END.sub("", piece.text.rstrip())
        return piece._replace(end=piece.start + len(text), raw=text, text=text)
    text = BULLETS.sub("", piece.text.lstrip(), count=1)
    return piece._replace(start=piece.end - len(text), raw=text, text=text)


def _opaque_ends(pieces: Sequence[Piece], kept: Callable[[str], object]) -> dict[int, int]:
    """Return the start of each element that is not translated, and the index after its end.

    Neither is an element without letters inside a word, such as the 2 of H2O.
    """
    lettered = [0, *accumulate(has_letters(piece.text) for piece in pieces)]
    opened, ends = defaultdict[str, list[int]](list), dict[int, int]()
    for number, piece in enumerate(pieces):
        if piece.kind == "open":
            opened[piece.name].append(number)
        elif piece.kind == "close" and opened[piece.name]:
            at = opened[piece.name].pop()
            is_mark = at and pieces[at - 1].text[-1:].isalpha() and lettered[at] == lettered[number]
            text = "".join(one.text for one in pieces[at:number]) if is_mark else ""
            named = OPAQUE.fullmatch(piece.name) or kept(pieces[at].raw)
            if named or (text and text.strip() == text):
                ends[at] = number + 1
    return ends


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
    separated = [one for piece in fold(pieces) for one in _separated(piece, tabs)]
    parts = [each for part in _at_breaks(separated) for each in _at_elements(part) if each]
    found = (inline_segment(part, encode=encode, layout=layout) for part in parts)
    return [segment for segment in found if segment]


def read_lines(content: str) -> Document:
    """Return the lines of a plain text."""
    lines = re.finditer(r"[^\r\n]+", content)
    pieces = ([text_piece(content, *line.span())] for line in lines)
    segments = (segment for each in pieces for segment in inline_segments(each, tabs=True))
    return collected(content, segments)


def _separated(piece: Piece, tabs: bool) -> Iterator[Piece]:
    """Yield a piece, or a text and the separators in it as breaks."""
    if piece.kind != "text" or piece.text != piece.raw or piece.rewritten:
        yield piece
        return

    def part(start: int, end: int) -> Piece:
        raw = piece.raw[start:end]
        return Piece("text", piece.start + start, piece.start + end, raw, raw, piece.name)

    at = 0
    for found in (BETWEEN_OR_TAB if tabs else BETWEEN).finditer(piece.raw):
        yield part(at, found.start())
        name = TAB if "\t" in found[0] else BAR
        yield part(*found.span())._replace(kind="break", text="", name=name)
        at = found.end()
    yield part(at, len(piece.raw))


def _at_breaks(pieces: list[Piece]) -> list[list[Piece]]:
    """Return the pieces, divided at each break that ends a text."""
    breaks = [number for number, piece in enumerate(pieces) if piece.kind == "break"]
    found = [pieces[: breaks[0] if breaks else None]]
    before = _text(found[0])  # the end of the last text
    for start, end in pairwise([*breaks, len(pieces)]):
        mark, part = pieces[start], pieces[start + 1 : end]
        nested, partners = nest([one for one in part if one.kind != "text" or one.text.strip()])
        is_element = bool(nested) and partners.get(0) == len(nested) - 1
        text = _text(part)
        if mark.name in (TAB, BAR) or is_element or not continues(before, text):
            found.append(part)
            before = ""
        else:
            found[-1] += [mark, *part]
        before = (before + text).rstrip()[-LONGEST:]
    return found


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
        if not gap and not (nested[n].name in LINKS or begins_as_text(_text(nested[n : n + 2])))
    ]
    if len(starts) < 2 or glued or any(has_letters(gap) or PLACEHOLDER in gap for gap in gaps):
        return [pieces]
    cuts = [0, *starts[1:], len(pieces)]
    return [pieces[start:end] for start, end in pairwise(cuts)]


def _text(pieces: Sequence[Piece]) -> str:
    return "".join(PLACEHOLDER if piece.kind == "placeholder" else piece.text for piece in pieces)
