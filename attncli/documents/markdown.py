"""Markdown: the text of paragraphs, headings, list items and table cells.

markdown-it divides the content into blocks with their lines. Front matter, code, formulas, link
targets and definitions are left as they are; HTML blocks are read as HTML. A paragraph of several
lines is divided into lines again, none longer than before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import TYPE_CHECKING

from attncli.documents import html_page
from attncli.documents.divide import inline_segments
from attncli.documents.document import Document, DocumentOptions, DocumentSegment, Kept, has_letters
from attncli.documents.inline import LineLayout, Piece, on_one_line, text_piece
from attncli.documents.markdown_blocks import as_common_mark
from attncli.documents.markdown_inline import Unmatched, keep_rule, marks
from attncli.documents.strings.yaml_values import segments_of
from attncli.documents.subtitles import TextLine, lines_of
from attncli.documents.wrap import filled

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

FRONT_MATTER = re.compile(
    r"\ufeff?(?P<mark>---|\+\+\+)[ \t]*(?:\r\n|\n|\r)(?P<fields>.*?)"
    r"^(?:(?P=mark)|\.\.\.)[ \t]*$",
    re.S | re.M,
)
SPECIAL = re.compile(
    r"[`*$~|\[\]]|\\(?=[!-/:-@\[-`{-~])|<(?=[A-Za-z/!?])|(?<!\w)_|_(?!\w)|&(?=#?\w+;)"
)
FIRST = r"[-+*#=|~`]|&[gl]t;|\d+[.)]$|!!!"  # words that have a meaning at the start of a line
KEPT = {"fence": "code blocks", "code_block": "code blocks", "front": "front matter"}


def read(content: str, options: DocumentOptions) -> Document:
    """Return the text of a page."""
    return _Reader(content, options).document()


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.inline.ruler.before("escape", "kept", keep_rule)
    return parser


class _Reader:
    """Collector of the segments of a page, block by block."""

    def __init__(self, content: str, options: DocumentOptions) -> None:
        self.content, self.options = content, options
        self.lines = lines_of(content)
        self.segments: list[DocumentSegment] = []
        self.kept: list[Kept] = []
        self.cell = 0  # where the search of the next cell of a table begins

    def document(self) -> Document:
        """Return the document with its segments."""
        text, at = self.content, 0
        if found := FRONT_MATTER.match(text):
            at = found.end()
            if self.options.fields and found["mark"] == "---":
                inner = found.span("fields")
                self.segments += segments_of(text[slice(*inner)], self.options, inner[0])
            else:
                self.kept.append(Kept(0, KEPT["front"]))
        body, titles = as_common_mark(text[at:])
        for token in _parser().parse(re.sub(r"[^\r\n]", " ", text[:at]) + body):
            self._take(token)
        for start, end in titles:
            self.segments += inline_segments([text_piece(text, at + start, at + end)])
        segments = sorted(self.segments, key=lambda one: one.start)
        return Document(self.content, tuple(segments), tuple(self.kept))

    def _take(self, token: Token) -> None:
        if token.map is None:
            return
        start = self.lines[token.map[0]].start
        if token.type in KEPT:
            self.kept.append(Kept(start, KEPT[token.type]))
        elif token.type == "html_block":
            end = self.lines[max(token.map[1] - 1, token.map[0])].end
            segments, kept = html_page.read_span(self.content, start, end)
            self.segments += segments
            self.kept += kept
        elif token.type == "tr_open":
            self.cell = start
        elif token.type == "inline":
            self._take_inline(token, self.lines[slice(*token.map)])

    def _take_inline(self, token: Token, lines: list[TextLine]) -> None:
        if not has_letters(token.content):
            return
        try:
            at = self._positions(token.content, lines)
            pieces = marks(token.content, token.children or [], at)
        except Unmatched:
            self.kept.append(Kept(lines[0].start, "paragraphs that could not be read"))
            return
        encode = partial(_encoded, known=_known(pieces))
        layout = self._layout(token, lines, at)
        self.segments += (
            segment._replace(write=_safe(segment.write))
            for segment in inline_segments(pieces, encode=encode, layout=layout)
        )

    def _positions(self, text: str, lines: list[TextLine]) -> list[int]:
        """Return the position in the content of each character of a paragraph, and its end."""
        found: list[int] = []
        for number, (part, line) in enumerate(zip(text.split("\n"), lines, strict=False)):
            if number:
                found.append(lines[number - 1].end)
            found += self._positions_in_line(part, line)
        if len(found) != len(text):
            raise Unmatched
        return [*found, found[-1] + 1]

    def _positions_in_line(self, part: str, line: TextLine) -> range:
        raw = self.content[line.start : line.end]
        if self.cell > line.start or (self.cell == line.start and "|" in raw):
            start = self.content.find(part, self.cell, line.end)
            self.cell = max(self.cell, start + len(part))
        else:
            start = self.content.rfind(part, line.start, line.end)
        if start < 0:
            raise Unmatched
        return range(start, start + len(part))

    def _layout(self, token: Token, lines: list[TextLine], at: list[int]) -> LineLayout:
        """Return the division into lines of a paragraph that has several."""
        parts = token.content.split("\n")
        if len(parts) < 2:
            return on_one_line
        second = at[len(parts[0]) + 1]  # where the second line begins
        second += len(parts[1]) - len(parts[1].lstrip())
        joint = self.content[lines[0].end : second]
        most = max(len(part) for part in parts)
        return lambda line, width: joint.join(filled(line, most, width, never_first=FIRST))


def _encoded(text: str, *, known: str) -> str:
    """Return a text with a backslash before what would be read as markup.

    known: special characters that the source has as plain text, which are not changed.
    """
    return SPECIAL.sub(lambda found: found[0] if found[0] in known else f"\\{found[0]}", text)


def _known(pieces: list[Piece]) -> str:
    """Return the special characters that the source has as plain text and nowhere as an escape."""
    texts = [piece for piece in pieces if piece.kind == "text"]
    escaped = {piece.text for piece in texts if piece.text != piece.raw}
    plain = "".join(piece.text for piece in texts if piece.text == piece.raw)
    return "".join(sign for sign in "[]$~|" if sign in plain and sign not in escaped)


def _safe(write: Callable[[tuple[str, ...]], str]) -> Callable[[tuple[str, ...]], str]:
    """Return a function that also protects a translation from being read as a list or a heading."""

    def written(translated: tuple[str, ...]) -> str:
        text = write(translated)
        return re.sub(r"^(\d*)([-+#>=.)])(?=\s|$|#)", r"\1\\\2", text)

    return written
