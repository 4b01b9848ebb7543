"""Inline markup of Markdown as pieces with positions.

markdown-it parses a paragraph into tokens without positions. The tokens are matched with the text
of the paragraph one after another, so that each one gets its span; where that fails, the paragraph
is not translated.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from attncli.documents.inline import Piece, PieceKind

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

KEPT = re.compile(  # formulas, attributes, keys, highlights, footnotes, notes of GitHub, emoji
    r"\$\$.+?\$\$|\$(?![\s$])[^$\n]*?(?<![\s\\])\$(?!\d)|\\\(.+?\\\)|\\\[.+?\\\]"
    r"|\\begin\{(?P<name>\w+\*?)\}.*?\\end\{(?P=name)\}"
    r"|\{(?::|[ \t]*[#.])[^{}\n]*\}|\+\+[\w+-]+\+\+|==(?!=)(?<!===)"
    r"|\[\^[^\]\s]+\]:?|\[![A-Z]+\]|:[a-z0-9_+-]*[a-z][a-z0-9_+-]*:",
    re.DOTALL,
)
ELEMENT = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z][\w:.-]*)[^<>]*?(?P<empty>/)?>")
EMPTY = re.compile("br|img|hr|wbr|input", re.IGNORECASE)


class Unmatched(Exception):
    """A token that is not found at its place in the text."""


def keep_rule(state: StateInline, silent: bool) -> bool:
    """Parse a formula or another mark that is kept; a rule of markdown-it."""
    found = KEPT.match(state.src, state.pos, state.posMax)
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
        self._add("text", self._match(r"[ \t]*\n[ \t]*"), text=" ")

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
        else:
            is_void = content[:2] in ("[^", "[!") or content[0] == "{"
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

    at = _after_spaces(text, at)
    target = parseLinkDestination(text, at, len(text))
    if target.ok:
        at = _after_spaces(text, target.pos)
        title = parseLinkTitle(text, at, len(text))
        at = _after_spaces(text, title.pos) if title.ok else at
    return at + 1 if text.startswith(")", at) else 0


def _after_spaces(text: str, at: int) -> int:
    return len(text) - len(text[at:].lstrip(" \t\n"))
