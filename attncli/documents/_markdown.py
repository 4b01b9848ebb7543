"""Markdown: blocks and inline marks.

markdown-it parses a paragraph into tokens without positions. The tokens are matched with the text
of the paragraph one after another, so that each one gets its span; where that fails, the
paragraph is not translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from attncli.documents import _html_page as html_page
from attncli.documents._inline import (
    SPACES,
    LineLayout,
    Piece,
    PieceKind,
    inline_segments,
    on_one_line,
    text_piece,
)
from attncli.documents._markdown_blocks import as_common_mark
from attncli.documents._subtitles import TextLine, lines_of
from attncli.documents._values import read_yaml
from attncli.documents.document import (
    DocumentOptions,
    DocumentPart,
    Kept,
    Texts,
    filled,
    has_letters,
)

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

# [[target]], ![[image]], [[target|text]]: of Obsidian, Foam and wikis; not [[text]](target)
WIKI = r"!?\[\[[^\[\]\n]{1,500}\]\](?![(\[])"
# the end of a link whose target has spaces; CommonMark reads it as text
SPACED = r"\]\((?=[^\s()<>\"']+[ ]+[^\s()<>\"'])[^()<>\"'\n]{1,500}(?:\"[^\"\n]{0,500}\")?\)"
LABEL = r"(?:[^\[\]\n]|!\[[^\[\]\n]{0,500}\]\([^()\n]{1,500}\)){1,1000}"
KEPT_INLINE = (
    re.compile(  # formulas, attributes, keys, highlights, footnotes, notes of GitHub, emoji
        r"\$\$.{1,2000}?\$\$|\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?!\d)|\\\(.{1,2000}?\\\)"
        r"|\\\[.{1,2000}?\\\]"
        r"|\\begin\{(?P<name>\w+\*?)\}.{0,2000}?\\end\{(?P=name)\}"
        r"|\{\{[^{}]{1,500}\}\}|\{(?::|[ \t]*[#.])[^{}\n]*\}|\+\+[\w+-]+\+\+|==(?!=)(?<!===)"
        r"|\[\^[^\[\]\s]{1,200}\]:?|\[!\w{1,20}\][+-]?|:(?![0-9_+-]*:)[a-z0-9_+-]+:"
        rf"|{WIKI}|!?\[(?={LABEL}{SPACED})|{SPACED}",
        re.DOTALL,
    )
)
# > [!NOTE] title, whose text is on further lines
CALLOUT = re.compile(r"\[!\w{1,20}\](?:[^\n]*[^ \t\n])?(?=[ \t]*\n)")
TITLE = "title"  # name of the break behind it
ELEMENT = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*)[^<>]*?(?P<empty>/)?>")
EMPTY = re.compile("br|img|hr|wbr|input", re.IGNORECASE)
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


class Unmatched(Exception):
    """A token that is not found at its place in the text."""


def keep_rule(state: StateInline, silent: bool) -> bool:
    """Parse a formula or another mark that is kept; a rule of markdown-it."""
    found = KEPT_INLINE.match(state.src, state.pos, state.posMax)
    if not found:
        return False
    if not silent:
        state.push("kept", "", 0).content = found[0]
    state.pos = found.end()
    return True


def marks(text: str, tokens: Sequence[Token], at: Sequence[int]) -> list[Piece]:
    """Return the pieces of a paragraph; raise Unmatched where a token is not in its text.

    at: position in the content of each character of the paragraph, and of its end.
    """
    matching = _Matching(text)
    matching.take(tokens)
    if matching.at != len(text):
        raise Unmatched
    starts = [at[mark.start] for mark in matching.found]
    spans = zip(matching.found, starts, [*starts[1:], at[-1]], strict=True)
    return [mark._replace(start=start, end=end) for mark, start, end in spans]


class _Matching:
    """Matcher of tokens with a text, from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        callout = CALLOUT.match(text)
        self.title = callout.end() if callout else -1  # the end of its first line
        self.found: list[Piece] = []
        self.labels: list[int] = []  # where the texts of the open links begin
        self.in_address = False  # True inside <https://...>
        self.in_mark = False  # True inside ==...==

    def take(self, tokens: Sequence[Token]) -> None:
        """Match tokens at the current position."""
        for token in tokens:
            take = getattr(self, f"_{token.type}", None)
            if take:
                take(token)
            elif token.nesting:
                kind: PieceKind = "open" if token.nesting > 0 else "close"
                self._add(kind, token.markup, name=token.markup)
            else:
                raise Unmatched

    def _add(
        self, kind: PieceKind, raw: str, *, text: str = "", name: str = "", out: str = ""
    ) -> None:
        """Add a piece with these characters. out: what is written instead of them."""
        if not self.text.startswith(raw, self.at):
            raise Unmatched
        end = self.at + len(raw)
        if raw:
            self.found.append(Piece(kind, self.at, end, out or raw, text, name))
        self.at = end

    def _match(self, pattern: str) -> str:
        found = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        if not found:
            raise Unmatched
        return found[0]

    def _text(self, token: Token) -> None:
        if not self.in_address:
            self._add("text", token.content, text=token.content)

    def _text_special(self, token: Token) -> None:
        self._add("text", token.markup, text=token.content)

    def _softbreak(self, token: Token) -> None:
        is_title = self.title == self.at
        kind: PieceKind = "break" if is_title else "text"
        self._add(kind, self._match(r"[ \t]*\n[ \t]*"), text=" ", name=TITLE if is_title else "")

    def _hardbreak(self, token: Token) -> None:
        self._add("break", self._match(r"(?:[ \t]*|\\)\n[ \t]*"))

    def _code_inline(self, token: Token) -> None:
        mark = re.escape(token.markup)
        self._add("placeholder", self._match(rf"{mark}.*?(?<!`){mark}(?!`)"))

    def _kept(self, token: Token) -> None:
        content = token.content
        if content == "==":  # around a text that is highlighted
            self.in_mark = not self.in_mark
            self._add("open" if self.in_mark else "close", content, name=content)
        elif content.startswith("[[") and "|" in content:
            target = content.index("|") + 1
            self._add("open", content[:target], name="link")
            self._add("text", content[target:-2], text=content[target:-2])
            self._add("close", "]]", name="link")
        elif content in ("[", "![") or content.startswith("]("):
            self._add("close" if content[0] == "]" else "open", content, name="link")
        else:
            is_void = content[:2] in ("[^", "[!") or content[0] == "{" != content[1]
            self._add("void" if is_void else "placeholder", content)

    def _html_inline(self, token: Token) -> None:
        found = ELEMENT.fullmatch(token.content)
        if not found or found["empty"] or EMPTY.fullmatch(found["name"]):
            breaks = found and found["name"].lower() == "br"
            self._add("break" if breaks else "void", token.content)
            return
        kind: PieceKind = "close" if found["close"] else "open"
        self._add(kind, token.content, name=found["name"].lower())

    def _image(self, token: Token) -> None:
        self._link_begins("![")
        self.take(token.children or [])
        self._link_ends()

    def _link_open(self, token: Token) -> None:
        if token.markup == "autolink":
            self._add("placeholder", self._match(r"<[^<>]*>"))
            self.in_address = True
        else:
            self._link_begins("[")

    def _link_close(self, token: Token) -> None:
        if self.in_address:
            self.in_address = False
        else:
            self._link_ends()

    def _link_begins(self, raw: str) -> None:
        self._add("open", raw, name="link")
        self.labels.append(self.at)

    def _link_ends(self) -> None:
        label = self.text[self.labels.pop() : self.at]
        raw = self.text[self.at : link_end(self.text, self.at)]
        self._add("close", raw, name="link", out=f"][{label}]" if raw in ("]", "][]") else raw)


def link_end(text: str, at: int) -> int:
    """Return the end of a link whose text ends at a position; raise Unmatched if there is none.

    A link ends with ``](target "title")``, ``][label]``, ``][]`` or ``]``.
    """
    if text.startswith("](", at) and (end := _target_end(text, at + 2)):
        return end
    found = re.compile(r"\](?:\[(?:[^\[\]\\]|\\.)*\])?", re.DOTALL).match(text, at)
    if not found:
        raise Unmatched
    return found.end()


def _target_end(text: str, at: int) -> int:
    """Return the end of a link's target and title; 0 if there is none."""
    from markdown_it.helpers import parseLinkDestination, parseLinkTitle

    def after_spaces(at: int) -> int:
        found = SPACES.match(text, at)
        return found.end() if found else at

    at = after_spaces(at)
    target = parseLinkDestination(text, at, len(text))
    if target.ok:
        at = after_spaces(target.pos)
        title = parseLinkTitle(text, at, len(text))
        at = after_spaces(title.pos) if title.ok else at
    return at + 1 if text.startswith(")", at) else 0


def read(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the texts of a page."""
    start = 0  # of the body
    if found := FRONT_MATTER.match(content):
        start = found.end()
        if options.fields and found["mark"] == "---":
            yield from read_yaml(found["fields"], options, start=found.start("fields"))
        else:
            yield Kept(0, KEPT["front"])
    body, titles = as_common_mark(content[start:])
    reader = _Reader(content, options)
    for token in _parser().parse(re.sub(r"[^\r\n]", " ", content[:start]) + body):
        yield from reader.parts(token)
    for first, last in titles:
        yield from inline_segments([text_piece(content, start + first, start + last)])


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"]).disable("text_join")
    parser.inline.ruler.before("escape", "kept", keep_rule)
    return parser


class _Reader:
    """Reader of the blocks of a page, from the first to the last."""

    def __init__(self, content: str, options: DocumentOptions) -> None:
        self.content, self.options = content, options
        self.lines = lines_of(content)
        self.cell = 0  # where the search of the next cell of a table begins

    def parts(self, token: Token) -> Iterator[DocumentPart]:
        """Yield the parts of a block."""
        if token.map is None:
            return
        start = self.lines[token.map[0]].start
        if token.type in KEPT:
            yield Kept(start, KEPT[token.type])
        elif token.type == "html_block":
            end = self.lines[max(token.map[1] - 1, token.map[0])].end
            yield from html_page.read(self.content, self.options, start, end)
        elif token.type == "tr_open":
            self.cell = start
        elif token.type == "inline" and has_letters(token.content):
            yield from self._paragraph(token, self.lines[slice(*token.map)])

    def _paragraph(self, token: Token, lines: list[TextLine]) -> Iterator[DocumentPart]:
        try:
            at = self._positions(token.content, lines)
            pieces = marks(token.content, token.children or [], at)
        except Unmatched:
            yield Kept(lines[0].start, "texts that could not be read")
            return
        texts = [piece for piece in pieces if piece.kind == "text"]
        escaped = {piece.text for piece in texts if piece.text != piece.raw}
        plain = {sign for piece in texts if piece.text == piece.raw for sign in piece.text}
        encode = partial(_encoded, known=plain.intersection("[]$~|") - escaped)
        body = 1 + next((n for n, piece in enumerate(pieces) if piece.name == TITLE), -1)
        parts, first = token.content.split("\n"), int(body > 0)
        behind = sum(len(part) + 1 for part in parts[:first])
        layout = self._layout(parts[first:], lines[first:], at[behind:])
        for some, form in ((pieces[:body], on_one_line), (pieces[body:], layout)):
            for segment in inline_segments(some, encode=encode, layout=form):
                yield segment._replace(write=partial(_safe, write=segment.write))

    def _positions(self, text: str, lines: list[TextLine]) -> list[int]:
        """Return the position in the content of each character of a paragraph, and its end."""
        found: list[int] = []
        for part, line in zip(text.split("\n"), lines, strict=False):
            raw = self.content[line.start : line.end]
            if self.cell > line.start or (self.cell == line.start and "|" in raw):
                start = self.content.find(part, self.cell, line.end)
                self.cell = max(self.cell, start + len(part))
            else:
                start = self.content.rfind(part, line.start, line.end)
            if start < 0:
                raise Unmatched
            found += (*range(start, start + len(part)), line.end)
        if len(found) != len(text) + 1:
            raise Unmatched
        return [*found[:-1], found[-2] + 1]

    def _layout(
        self, parts: Sequence[str], lines: Sequence[TextLine], at: Sequence[int]
    ) -> LineLayout:
        """Return the division into lines of a paragraph that has several."""
        if len(parts) < 2:
            return on_one_line
        second = at[len(parts[0]) + 1]  # where the second line begins
        second += len(parts[1]) - len(parts[1].lstrip())
        joint = self.content[lines[0].end : second]
        most = max(len(part) for part in parts)
        return lambda line, width: joint.join(filled(line, most, width, never_first=FIRST))


def _encoded(text: str, *, known: set[str]) -> str:
    """Return a text with a backslash before what would be read as markup.

    known: special characters that the source has as plain text, and nowhere as an escape.
    """
    return SPECIAL.sub(lambda found: found[0] if found[0] in known else f"\\{found[0]}", text)


def _safe(translated: Texts, *, write: Callable[[Texts], str]) -> str:
    """Return what is written, such that it is not read as a list or a heading."""
    return re.sub(r"^(\d*)([-+#>=.)])(?=\s|$|#)", r"\1\\\2", write(translated))
