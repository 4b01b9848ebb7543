r"""Protected parts: what must not be translated is taken out of a text and put back after it.

    text, parts = protect("You have %'d files in C:\tmp.")   # "You have ⟨0⟩ files in ⟨1⟩."
    restore("Sie haben ⟨0⟩ Dateien in ⟨1⟩.", parts)          # "Sie haben %'d Dateien in C:\tmp."

A mark ⟨n⟩ is one character of a private area of Unicode. A model with reserved tokens reads and
writes the marks themselves; see `stand_ins` for others.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import NamedTuple
from unicodedata import category

from attncli.faithful._kinds import EMOJI, KINDS
from attncli.faithful.numbers import HALF_DAYS, ROMAN, in_style
from models.text.tokenizer import RESERVED

FIRST = RESERVED  # the first mark
# characters of the private area of Unicode's basic plane, each of which is one mark
MOST = 6400  # marks of a line
MOST_OWN = 1000  # characters of a line that could be taken for marks
MOST_DIGITS = 4  # of a number that a model copies by itself
LATIN = 0x24F  # the last letter of the extended Latin alphabet
MARK = re.compile("[\ue000-\uf8ff]")
# most texts have none of what these find
QUICK = re.compile(
    r"[^\sA-Za-zÀ-ÖØ-öø-ɏ.,;:!?'\"()-]|\.{4}|--[a-z]|:[a-z_]|::|\w\.\w|[a-z]-?[A-Z]|\. \. \."
    r"|-{4}|[\w,] -[A-Za-z](?!\w)|\(\)|XXX|BIC|localhost|[yYMDdHhms]{1,4}[-/.:][yYMDdHhms]"
)
AMOUNTS = re.compile(  # what a model may lose: times, numbers with their signs, signs
    rf"{HALF_DAYS.pattern}|{ROMAN}|(?:[€£¥₹$]\s?)?(?:(?<![\w)])[-−])?\d+(?:[.,]\d+)*(?:\s?[%€£¥₹$])?"
    r"|[%&€£¥₹$\[\]{}()]"
)
DOLLAR = re.compile(r"(?<![\w$])\$[1-9](?![\d.,]*\d|\w)")
# of a placeholder that is numbered or named
INDEX = re.compile(r"%L?\d+(?:\$|$)|[{(:@\#$_\[]\w|\w%$")
NUMBERS = frozenset(("number", "quantity", "inches", "hours", "sign"))  # kinds with separators
QUOTES = ('\\"', "\\'", '"', "'")  # a part keeps those that touch it
SIGNS = frozenset("=^#@&~<>≤≥≈≠°²³¹™®©+−×÷±")  # signs that belong to the word they touch
# Signs that models are known to read, because they have another place or word in each language.
# A translation without them is repeated with them as parts.
SOFT = frozenset("%&€£¥₹$[]{}")
PLAIN_TEXT = frozenset("`´¨¸")  # quotes and accents, which are no signs
BETWEEN = re.compile(r"[-/|;=+]?")  # parts with this between them are one

FoundPart = tuple[int, int, str]  # start, end, name of a kind


class Part(NamedTuple):
    """A protected part of a text."""

    raw: str  # as in the source
    shown: str  # as in the output: a number has the separators of the language
    before: bool = False  # True if a word touches it on this side
    after: bool = False

    @property
    def in_order(self) -> bool:
        """True for a placeholder without number or name: its order tells which one it is."""
        raw = self.raw.strip("\\\"'") or self.raw
        return raw[0] in "[<" or raw == "**" or (raw[0] == "%" != raw and not INDEX.search(raw))


def own_parts(line: str) -> tuple[tuple[Part, ...], dict[int, str]]:
    """Return parts for the characters of a line that could be taken for marks, and their marks.

    The marks are a table for `str.translate`. None if nothing of the line can be protected.
    """
    own = dict.fromkeys(MARK.findall(line)) if can_protect(line) else ()
    return tuple(Part(one, one) for one in own), {
        ord(one): chr(FIRST + number) for number, one in enumerate(own)
    }


def can_protect(line: str) -> bool:
    """Return False for a line with so many of these characters that no marks are left."""
    return line.isascii() or len({*MARK.findall(line)}) <= MOST_OWN


def protect(
    text: str,
    unknown: Callable[[str], str] = lambda text: "",
    languages: tuple[str, str] = ("", ""),
    *,
    more: Sequence[Part] = (),
    escaped: bool = False,
    dollars: bool = False,
    is_word: Callable[[str], bool] = lambda name: False,
) -> tuple[str, tuple[Part, ...]]:
    """Return a text with a mark for each protected part, and the parts.

    unknown: returns the characters of a text for which the model has no token. languages: of the
    source ("" if it is unknown) and of the output. more: parts that have marks in the text.
    escaped: True writes the characters of a part as entities. dollars: True if $2 is a placeholder.
    is_word: returns True for what looks like a name, such as iPhone, and is translated.
    """
    has_signs = bool(QUICK.search(text))
    strange = _strange(text, unknown) if has_signs or not text.isascii() else set[str]()
    if not (strange or has_signs):
        return text, tuple(more)
    parts, marked, at = list(more), "", 0
    found = _merged(text, _found(text, strange, dollars, is_word))
    edges = {start for start, *_ in found} & {end for _, end, _ in found}  # of two parts
    for start, end, kind in found:
        if len(parts) >= MOST:
            break
        marked += text[at:start]
        at = end
        if kind == "mark" and more:  # without more, it is a character of the text itself
            marked += text[start:end]
            continue
        raw = html.escape(text[start:end], quote=False) if escaped else text[start:end]
        raw = restore(raw, more, source=True)
        shown = in_style(raw, *languages) if _is_number(raw, kind, languages[0]) else raw
        sides = ((start, text[start - 1 : start]), (end, text[end : end + 1]))
        touching = (at not in edges and (one.isalnum() or one == "_") for at, one in sides)
        marked += chr(FIRST + len(parts))
        parts.append(Part(raw, shown, *touching))
    return marked + text[at:], tuple(parts)


def _strange(text: str, unknown: Callable[[str], str]) -> set[str]:
    """Return the characters that no model reads; it may know letters such as ë, from bytes."""
    letters = {c for c in unknown(text) if not c.isalpha() or ord(c) > LATIN}
    return letters | {*filter(is_sign, text)}


def _is_number(raw: str, kind: str, language: str) -> bool:
    """Return True for a part that is a number; with spaces, elsewhere it may be a code."""
    is_french = language == "fr" and raw.count(" ") == 1
    return kind in NUMBERS or (kind == "spaced number" and is_french)


def restore(text: str, parts: Sequence[Part], *, source: bool = False) -> str:
    """Return a text with its parts in the places of their marks.

    source: True writes them as the source does.
    """

    def written(mark: re.Match[str]) -> str:
        number = ord(mark[0]) - FIRST
        if number >= len(parts):
            return mark[0]
        return parts[number].raw if source else parts[number].shown

    return MARK.sub(written, text) if parts else text


def with_amounts(
    text: str, parts: tuple[Part, ...], languages: tuple[str, str]
) -> tuple[str, tuple[Part, ...]]:
    """Return a text with a mark for each number and each sign in it, and the parts with them."""
    found = [*parts]

    def mark(amount: re.Match[str]) -> str:
        if len(found) >= MOST:
            return amount[0]
        found.append(Part(amount[0], in_style(amount[0], *languages)))
        return chr(FIRST + len(found) - 1)

    return AMOUNTS.sub(mark, text), tuple(found)


@cache
def finder() -> re.Pattern[str]:
    """Return the pattern of all kinds, compiled when it is needed, because most lines need none."""
    return re.compile("|".join(f"(?P<k{n}>{kind.pattern})" for n, kind in enumerate(KINDS)))


@cache
def is_sign(character: str) -> bool:
    """Return True for a sign that no model reads, whatever its vocabulary has."""
    kind = category(character)
    return character in "#*@\\_§¶†‡•‰" or (kind[0] == "S" and character not in SOFT | PLAIN_TEXT)


def has_dollar_names(text: str) -> bool:
    """Return True if a text has the placeholders $1, $2, ...: all from 1 on. Others are prices."""
    names = {int(one[0][1]) for one in DOLLAR.finditer(text)}
    # $5 without $1 is a price
    return bool(names) and names == {*range(1, len(names) + 1)}


def _found(
    text: str, strange: set[str], dollars: bool, is_word: Callable[[str], bool]
) -> Iterator[FoundPart]:
    """Yield the protected parts of a text, in any order."""
    if dollars or has_dollar_names(text):
        yield from ((*one.span(), "dollar name") for one in DOLLAR.finditer(text))
    covered = set[int]()  # characters of parts, whose signs take no further words
    inches = 0
    for found in finder().finditer(text):
        kind, raw = KINDS[int(str(found.lastgroup)[1:])].name, found[0]
        if kind == "name" and is_word(raw):
            continue
        if kind not in ("word", "digits"):
            covered.update(range(*found.span()))
        if kind == "mark":
            yield _with_word(text, found.start())
        elif kind == "inches":
            if (text.count('"', 0, found.start()) - inches) % 2 == 0:  # no end of a quotation
                inches += 1
                yield (*found.span(), kind)
        elif kind == "digits":
            digits = sum(map(str.isdigit, raw))
            if digits > MOST_DIGITS or raw[0] == "0" < raw or not (raw.isdigit() or ":" in raw):
                yield (*found.span(), kind)
        elif kind != "word" or _is_code(raw):
            yield (*found.span(), kind)
    if strange:
        yield from _signs(text, strange, covered)


def _is_code(raw: str) -> bool:
    """Return True for a word with digits that a model may not copy; not 20th, 5kg, 5PM."""
    if HALF_DAYS.fullmatch(raw):
        return False
    if "_" in raw or (raw.lower() != raw and any(map(str.isdigit, raw))):
        return len(raw) > 2
    changes = len(re.findall(r"(?<=\d)[a-z]|(?<=[a-z])\d", raw))
    return changes > 1 or sum(map(str.isdigit, raw)) > MOST_DIGITS


def _with_word(text: str, at: int) -> FoundPart:
    """Return the span and kind of a mark; with its word if it is inside one, such as H2O or m2."""
    start, end = at, at + 1
    while start and text[start - 1].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum():
        end += 1
    inside = start < at and end > at + 1
    # H2O with a mark inside is a code; a mark beside a long word is a sign of its own
    return (start, end, "word") if inside or 0 < end - start - 1 < 3 else (at, at + 1, "mark")


def _signs(text: str, strange: set[str], covered: set[int]) -> Iterator[FoundPart]:
    """Yield the emoji of a text, and its other characters without a token, with their words."""
    at = 0
    while at < len(text):
        if text[at] not in strange or at in covered:
            at += 1
            continue
        start, end = at, at + 1
        if text[at] in "\u20e3\ufe0f" and at:
            start = at - 1
        emoji = re.compile(EMOJI).match(text, start)
        if emoji and (text[at] not in SIGNS or emoji.end() > end):
            end = emoji.end()
        elif text[at] in SIGNS or text[at].isalnum():
            while start and _in_word(text[start - 1], strange):
                start -= 1
            while end < len(text) and _in_word(text[end], strange):
                end += 1
        yield start, end, "sign"
        at = end


def _in_word(character: str, strange: set[str]) -> bool:
    kind = category(character)[0]
    return kind in "LMN" or (character in strange and kind != "Z" and character in SIGNS)


def _merged(text: str, found: Iterator[FoundPart]) -> list[FoundPart]:
    """Return the parts in order; those that overlap, or have only signs between them, as one."""
    merged: list[FoundPart] = []
    for start, end, kind in sorted(_with_quotes(text, *one) for one in found):
        first, last, other = merged[-1] if merged else (0, -1, "")
        near = start <= last if "mark" not in (kind, other) else start < last
        if last > 0 and not {"mark", "number"} & {kind, other}:
            near = near or bool(BETWEEN.fullmatch(text, last, start))
        if near:
            merged[-1] = (first, max(last, end), other if last >= end else "code")
        else:
            merged.append((start, end, kind))
    return merged


def _with_quotes(text: str, start: int, end: int, kind: str) -> FoundPart:
    """Return a part with the same straight quote on both sides, of which a model may lose one."""
    for quote in QUOTES if kind not in ("mark", "number", "sign") else ():
        if text.endswith(quote, 0, start) and text.startswith(quote, end):
            return start - len(quote), end + len(quote), kind
    return start, end, kind
