"""Documents: texts and wrapping."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from pkgutil import resolve_name
from typing import Any, NamedTuple

from attncli.documents.formats import AS_LINES, FORMATS, PACKED
from attncli.faithful.branches import branches
from attncli.faithful.pieces import LINE_END, MARKUP
from models.core.errors import InputError
from models.core.limits import GIVE_TURN
from models.core.types import Span

# Line breaks of a translated segment, at spaces. Markup takes no room.

OPENING = re.compile(r"[\s\"'“”„‟«»‹›‘’‚(\[{¿¡]*")
SENTENCE_END = re.compile(r"[.!?…:;。！？][\"'”’»)\]]*\s*$")

REFERENCE = re.compile(r"&#(?:\d{20,}|[xX][0-9a-fA-F]{20,});?")  # of no character of Unicode

Width = Callable[[str], int]
Texts = tuple[str, ...]
AUTO = "auto"  # as source language: recognised for each text
FLAG = "#, fuzzy\n"  # of gettext, whose programs do not use such a translation
TRANSLATED = "texts that have a translation"  # a kind of `Kept`
PARTS = re.compile(
    rf"({LINE_END.pattern}|(?<! )[ ]*\t[ ]*|(?<! )[ ]+\|[ ]+(?![^{{}}]{{0,200}}\}}\}}))"
)  # between the texts of a string
CHOICE = re.compile(r"\{\s*\w+\s*,\s*choice\s*,")
# patterns of dates and times, such as MM/DD/YYYY and h:mm a, and units
NO_WORDS = re.compile(
    r"(?=.*([yMDdHhms])\1)(?:([yYMLdDEeHhKkmsSaAzZ])\2{,4}(?:[\s.,:/'_-]+|(?<=[Dd])T|$)){2,}"
    r"|(?:([yMDdHhms])\3+){2,}|[b-df-hj-np-tv-xz]{2,3}"
)
WRAPPED = 40  # characters of a line that was probably divided for its width


def unescaped(text: str) -> str:
    """Return a text with characters in place of the references of HTML."""
    return html.unescape(REFERENCE.sub("\ufffd", text))


def text_width(word: str) -> int:
    """Return the number of characters of a word without its markup."""
    return len(unescaped(MARKUP.sub("", word)))


def balanced(line: str, lines: int, *, never_first: str = "(?!)") -> list[str]:
    """Divide a line into at most so many lines; the longest of them is as short as possible."""
    divided = partial(filled, line, width=text_width, never_first=never_first)
    widths = [*map(text_width, line.split(" "))]
    low, high = max(widths), sum(widths) + len(widths) - 1
    while low < high:
        middle = (low + high) // 2
        fits = len(divided(middle)) <= lines
        low, high = (low, middle) if fits else (middle + 1, high)
    return divided(low)


def filled(line: str, most: int, width: Width, *, never_first: str = "(?!)") -> list[str]:
    """Divide a line into lines of at most so many characters, except for longer words.

    never_first: regular expression of words that must not begin a line.
    """
    found: list[list[str]] = []
    room = -1
    for word in line.split(" "):
        size = width(word)
        if found and (size < room or re.match(never_first, word)):
            found[-1].append(word)
            room -= size + 1
        else:
            found.append([word])
            room = most - size
    return [*map(" ".join, found)]


def begins_as_text(text: str) -> bool:
    """Return True if a text begins as a new one does, and not as the rest of a sentence."""
    rest = OPENING.sub("", text, count=1)
    return bool(rest) and not rest[0].islower() and rest[0] not in ",.;:!?)]}…%"


def continues(before: str, text: str) -> bool:
    """Return True if the text behind a break goes on with that before it."""
    if not before.strip() or not text.strip() or SENTENCE_END.search(before):
        return False
    return not begins_as_text(text)


class DocumentSegment(NamedTuple):
    """A span of the content that is replaced by the translation of its texts."""

    start: int  # first character
    end: int  # after the last character
    texts: Texts  # to translate, one line each; markup as tags of `attncli.faithful`
    write: Callable[[Texts], str]  # from the translations to what replaces the span
    key: str = ""  # of a value of JSON, with those of its groups and dots between
    flag: int = -1  # where `FLAG` is written if the translation is doubtful; -1: it is not written

    def moved(self, by: int) -> DocumentSegment:
        """Return the segment with its span so many characters later."""
        return self._replace(start=self.start + by, end=self.end + by)


class Kept(NamedTuple):
    """A part with words that is not translated, or that could not be read."""

    start: int  # first character
    kind: str  # for a message: "code blocks", or what was found: "not JSON"
    is_fault: bool = False  # True if it could not be read


DocumentPart = DocumentSegment | Kept | None  # None: a value without letters


@dataclass(frozen=True)
class Document:
    """The content of a document and its segments, in order and without overlaps."""

    content: str
    segments: tuple[DocumentSegment, ...]
    kept: tuple[Kept, ...] = ()
    # of a file that is not text: from the translations to its bytes. `content` then has a line for
    # each segment, so that messages can name it.
    save: Callable[[Sequence[Texts | None]], bytes] | None = None
    places: tuple[str, ...] = ()  # of a table: the sheet and the cell of each line
    encoding: str = "utf-8"  # of a text file
    strict: bool = False  # a program reads it: a doubtful translation without a flag is left out


@dataclass(frozen=True)
class DocumentOptions:
    """Choice of the parts of a table or of JSON that are translated."""

    columns: tuple[str, ...] = ()  # names, or numbers from 1
    fields: tuple[str, ...] = ()  # names; inner fields with a dot: meta.title
    keep: tuple[str, ...] = ()  # fields that are not translated, where all others are
    delimiter: str = ""  # of a table; empty: found in its first line
    to: str = ""  # the target language, which the document then names; empty: not named
    source: str = ""  # the source language; AUTO: that of each text; empty: unknown

    def leaves(self, language: str, document: str, *, inline: bool = False) -> bool:
        """Return True if a text in a language is not translated: not that of source or document.

        With AUTO, only words inside a text are left. document: its own language; empty: unknown.
        """
        source, own, named = (re.split("[-_]", one)[0] for one in (self.source, document, language))
        known = {source, own} - {"", AUTO}
        is_other = bool(named) and named not in known
        return is_other and (inline or (bool(known) and source != AUTO))


def collected(content: str, parts: Iterable[DocumentPart]) -> Document:
    """Return the document of a content and the parts that a format finds in it, in any order.

    The name of a language stays if it is the target language with a region, such as de-AT.
    """
    found = []
    for part in parts:
        GIVE_TURN.get()()
        found.append(part)
    segments = [
        part
        for part in found
        if isinstance(part, DocumentSegment)
        and (part.texts or _base(content[part.start : part.end]) != _base(part.write(())))
    ]
    segments.sort(key=lambda one: (one.start, one.end))
    return Document(content, tuple(segments), tuple(p for p in found if isinstance(p, Kept)))


def reassemble(
    document: Document, translations: Sequence[Texts | None], doubtful: Iterable[int] = ()
) -> str:
    """Return the content with its segments translated.

    translations: one entry per segment; None leaves the segment unchanged. A segment whose
    translation equals its texts is left unchanged as well. One without texts is always written.
    The plural forms of an entry are all written, or none. doubtful: the numbers of the segments
    that get a flag.
    """
    pairs = [*zip(document.segments, translations, strict=True)]
    left = {one.flag for one, texts in pairs if texts is None} - {-1}
    changed = {one.flag for one, texts in pairs if texts != one.texts} - {-1}
    edits = [
        (one.start, one.end, one.write(texts))
        for one, texts in pairs
        if texts is not None
        and one.flag not in left
        and (not texts or texts != one.texts or one.flag in changed)
    ]
    flags = {document.segments[number].flag for number in doubtful} - {-1}
    edits += [(at, at, FLAG) for at in flags]
    edits.sort(key=itemgetter(0))
    return edited(document.content, edits)


def edited(content: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """Return a content with other texts in the places of some spans, in order."""
    parts, at = [], 0
    for start, end, text in edits:
        parts += [content[at:start], text]
        at = end
    return "".join([*parts, content[at:]])


def check_language(document: Document, to: str) -> None:
    """Raise InputError if a document with texts in the language `to` names another one."""
    for segment in document.segments:
        named = "" if segment.texts else document.content[segment.start : segment.end]
        given, wanted = _base(named), _base(to)
        if len(given) == len(wanted) == 2 and given != wanted:
            raise InputError(f"it has translations in the language {named}", f"a file in {to}")


def _base(code: str) -> str:
    """Return the code of a language without its region."""
    return re.split("[-_]", code.lower())[0]


def language_segment(span: Span, to: str) -> DocumentSegment:
    """Return the segment of the name of the document's language. to: what is written."""
    return DocumentSegment(*span, (), lambda _: to)


def has_letters(text: str) -> bool:
    """Return True if a text has a letter, so that there is something to translate."""
    return any(map(str.isalpha, text))


def string_segment(
    start: int, end: int, text: str, quote: Callable[[str], str], key: str = ""
) -> DocumentSegment | None:
    """Return the segment of a string; None if it has no letters.

    text: the value of the string. Its lines are texts of their own, but for a long one that goes on
    in the next line; so are the branches of a message. quote: write a value as the document has it
    in this place.
    """
    if not has_letters(text) or NO_WORDS.fullmatch(text):
        return None
    first, *rest = branches(text) or PARTS.split(text)
    texts, ends = [[first]], [""]  # lines of each text; what is between its lines, and behind it
    for between, part in zip(rest[::2], rest[1::2], strict=True):
        long = LINE_END.fullmatch(between) and len(texts[-1][-1]) >= WRAPPED
        if long and continues(texts[-1][-1], part):
            texts[-1].append(part)
            ends[-1] = between
        else:
            texts.append([part])
            ends += [between, ""]
    ends.append("")

    def write(translated: Texts) -> str:
        found = ""
        translated = tuple(
            one if own.strip() else own for one, own in zip(translated, joined, strict=True)
        )
        sign = "'" if CHOICE.search(text) else "'{"  # what quotes in messages of ICU and Java
        if sign not in text:
            translated = tuple(one.replace(sign, f"’{sign[1:]}") for one in translated)
        for one, lines, inner, outer in zip(translated, texts, ends[::2], ends[1::2], strict=True):
            made = balanced(one, len(lines)) if len(lines) > 1 else []
            indents = [line[: len(line) - len(line.lstrip())] for line in lines]
            found += (inner.join(map("".join, zip(indents, made, strict=False))) or one) + outer
        return quote(found)

    joined = tuple(" ".join(map(str.strip, one)) if len(one) > 1 else one[0] for one in texts)
    return DocumentSegment(start, end, joined, write, key)


def read_document(content: str | bytes, name: str, options: DocumentOptions) -> Document:
    """Return the segments of a content; of bytes, in a format of the table PACKED.

    Raises ModelError for a file of another kind, for options that do not fit, and for an archive
    that is damaged or too large.
    """
    row = (FORMATS | PACKED)[name]
    text = "" if isinstance(content, bytes) else content.strip("\ufeff \t\r\n")
    if text and not re.search(row.sign, text):
        raise InputError(f"a document that is not {name}", "what its name says", AS_LINES)
    read: Callable[[Any, DocumentOptions], Document | Iterable[DocumentPart]]
    read = resolve_name(f"{__package__}.{row.read}")
    found = read(content, options)
    return found if isinstance(found, Document) else collected(str(content), found)
