r"""Files of messages as programs read them: PO, Java's `.properties`, Apple's `.strings`.

PO (gettext): the translations (``msgstr``) that are empty. Those that are there are kept, as are
comments, flags, contexts and obsolete entries. An entry whose translation equals its original stays
empty, which gettext reads as the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

from attncli.documents.document import (
    TRANSLATED,
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Kept,
    language_segment,
    string_segment,
)
from models.core.errors import InputError
from models.core.limits import DIGITS

CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "a": "\a", "b": "\b", "v": "\v"}
STRING = r'"([^"\\\r\n]*(?:\\.[^"\\\r\n]*)*)"'
FIELD = re.compile(
    rf"^[ \t]*(?P<name>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<form>\d+)\])?[ \t]*"
    rf"(?P<value>{STRING}[ \t]*(?:(?:\r\n|\n|\r)[ \t]*{STRING}[ \t]*)*)$",
    re.MULTILINE,
)
ONE_FORM = re.compile(r"nplurals\s*=\s*1\s*;")  # a language without a singular
HEADER = re.compile(  # parts that are written: the language, and the blanks of a template
    r"\bLanguage:[ \t]*(?P<language>[^\\\"\s]*)|\bcharset=(?!(?i:utf-8))(?P<charset>[\w.-]+)"
    r"|\bnplurals=(?P<forms>INTEGER)|\bplural=(?P<plural>EXPRESSION)"
)
KEY = r"(?P<key>(?:[^\s:=\\#!]|\\.)[^\s:=\\]*(?:\\.[^\s:=\\]*)*)"
ENTRY = re.compile(
    rf"^[ \t\f]*{KEY}[ \t\f]*[:=]?[ \t\f]*(?P<value>[^\\\r\n]*(?:\\(?:\r\n|.)[^\\\r\n]*)*)",
    re.MULTILINE | re.DOTALL,
)
COMMENT = re.compile(r"^[ \t\f]*[#!][^\r\n]*", re.MULTILINE)
FORMAT = re.compile(r"\{\d")
INNER = r'[^"\\]*(?:\\.[^"\\]*)*'  # without a group for each character, which takes memory
PART = re.compile(  # "key" = "value"; between comments
    rf'/\*.*?\*/|//[^\n]*|(?P<key>"{INNER}"|(?<![\w.-])[\w.-]+)\s*=\s*(?P<value>"(?P<text>{INNER})")\s*;'
    rf'|"{INNER}(?:"|\Z)',  # a string that is no key is read once
    re.DOTALL,
)


class Escapes:
    """The escapes of a format: of the control characters with these letters, and of some signs.

    pattern: of an escape, with the group `sign`; and `code` (hexadecimal), `octal`, where allowed.
    """

    def __init__(self, pattern: str, letters: str, signs: str) -> None:
        self.pattern = re.compile(pattern, re.DOTALL)
        self.controls = {letter: CONTROLS[letter] for letter in letters}
        self.escapes = {sign: f"\\{sign}" for sign in signs}
        self.escapes |= {control: f"\\{letter}" for letter, control in self.controls.items()}

    def read(self, text: str) -> str:
        """Return a text without its escapes."""
        return with_pairs(self.pattern.sub(self._character, text))

    def _character(self, found: re.Match[str]) -> str:
        groups = found.groupdict()
        for name, base in (("code", 16), ("octal", 8)):
            if groups.get(name):
                return chr(int(found[name], base))
        return self.controls.get(found["sign"], found["sign"] or "")

    def write(self, text: str) -> str:
        """Return a text with escapes."""
        return "".join(self.escapes.get(sign, sign) for sign in text)


PO = Escapes(
    r"\\(?:x(?P<code>[0-9A-Fa-f]{1,2})|(?P<octal>[0-7]{1,3})|(?P<sign>.))", "ntrabfv", '\\"'
)


class Field(NamedTuple):
    """A string of an entry."""

    name: str  # msgctxt, msgid, msgid_plural or msgstr
    form: int  # number of the plural form; 0 without one
    start: int  # span of its quoted strings
    end: int
    text: str


def read_po(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the empty translations of a file.

    Their texts are the original strings: ``msgid`` for the first form, ``msgid_plural`` for others.
    """
    quote = partial(_quoted_lines, line_end="\r\n" if "\r\n" in content else "\n")
    singular = plural = header = ""
    entry, before = 0, ""  # where the entry begins; the name of the last field
    for name, form, start, end, text in fields_of(content):
        if name == "msgctxt" or (name == "msgid" and before != "msgctxt"):
            entry = content.rfind("\n", 0, content.rfind(name, 0, start)) + 1
        before = name
        if name == "msgid":
            singular = plural = text
        elif name == "msgid_plural":
            plural = text
        elif name == "msgstr" and not singular:
            header = header or text
            yield from _header(content, start, end, options.to)
        elif name == "msgstr" and text:
            yield Kept(start, TRANSLATED)
        elif name == "msgstr":
            source = plural if form or ONE_FORM.search(header) else singular
            segment = string_segment(start, end, source, quote)
            yield segment and segment._replace(flag=entry)


def _header(content: str, start: int, end: int, to: str) -> Iterator[DocumentSegment]:
    """Yield what is written in the header. A template has two plural forms of each entry."""
    plural = "(n > 1)" if to.startswith("fr") else "(n != 1)"
    new = {"language": to.replace("-", "_"), "charset": "UTF-8", "forms": "2", "plural": plural}
    for found in HEADER.finditer(content, start, end):
        name = str(found.lastgroup)
        if to or name != "language":
            yield language_segment(found.span(name), new[name])
    if "\nmsgid_plural" in content and "Plural-Forms:" not in content[start:end]:
        line = f'\n"Plural-Forms: nplurals=2; plural={plural};\\n"'
        yield language_segment(
            (end, end), line.replace("\n", "\r\n" if "\r\n" in content else "\n")
        )


def fields_of(content: str) -> Iterator[Field]:
    """Yield the strings of a PO file that are not in comments."""
    for found in FIELD.finditer(content):
        form = found["form"] or "0"
        if len(form) > DIGITS:
            raise InputError(f"a plural form of {len(form):,} digits", "a number", "mend it")
        start, value = found.start("value"), found["value"].rstrip(" \t")
        text = "".join(map(PO.read, re.findall(STRING, value)))
        yield Field(found["name"], int(form), start, start + len(value), text)


def _quoted_lines(text: str, *, line_end: str) -> str:
    r"""Return a string of a PO file; one with several lines has each ``\n`` at the end of one."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    parts = [f'"{PO.write(line)}"' for line in lines]
    if len(parts) > 1:
        parts.insert(0, '""')
    return line_end.join(parts) or '""'


PROPERTIES = Escapes(
    r"\\(?:u(?P<code>[0-9A-Fa-f]{4})|(?:\r\n|\r|\n)[ \t\f]*|(?P<sign>.))", "ntrf", "\\"
)


def read_properties(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the values of all keys of `.properties`.

    In a message with `{0}`, an apostrophe is doubled (java.text.MessageFormat).
    """
    for found in entries(content, "properties"):
        value = PROPERTIES.read(found["value"])
        doubled = bool(FORMAT.search(value)) and not re.search("(?<!')'(?!')", value)
        value = value.replace("''", "'") if doubled else value
        quote = partial(_property, doubled=doubled, ascii_only=content.isascii())
        yield string_segment(*found.span("value"), value, quote)


def _property(text: str, *, doubled: bool, ascii_only: bool) -> str:
    r"""Return a value of `.properties`.

    ascii_only: write `\uXXXX`, which every version of Java reads, as the file has no other sign.
    """
    text = PROPERTIES.write(text.replace("'", "''") if doubled else text)
    text = f"\\{text}" if text[:1] == " " else text
    if not ascii_only:
        return text
    units = text.encode("utf-16-be")
    codes = (int.from_bytes(units[at : at + 2], "big") for at in range(0, len(units), 2))
    return "".join(chr(code) if code < 0x80 else f"\\u{code:04x}" for code in codes)


STRINGS = Escapes(r"\\(?:U(?P<code>[0-9A-Fa-f]{4})|(?P<sign>.))", "tnr", '\\"')


def read_strings(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the values of all keys of `.strings`."""
    for found in entries(content, "strings"):
        value = STRINGS.read(content[found.start("value") + 1 : found.end("value") - 1])
        span = found.span("value")
        yield string_segment(*span, value, lambda t: f'"{STRINGS.write(t)}"')


def entries(content: str, format: str) -> Iterator[re.Match[str]]:
    """Yield the entries of `.properties` and `.strings`, with the groups `key` and `value`."""
    if format == "properties":
        yield from ENTRY.finditer(COMMENT.sub(lambda found: " " * len(found[0]), content))
    else:
        ended = content.rfind("*/") + 2  # behind it, a comment has no end
        shown = content[:ended] + content[ended:].replace("/*", "  ")
        yield from (found for found in PART.finditer(shown) if found["value"])


def with_pairs(text: str) -> str:
    """Return a text with one character for each pair of halves of UTF-16."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
