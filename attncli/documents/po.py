r"""PO files of gettext: the translations (``msgstr``) that are still empty.

The texts are the original strings: ``msgid`` for the first form, ``msgid_plural`` for the others.
Translations that are there are kept, and so are comments, flags, contexts and obsolete entries. An
entry whose translation equals its original stays empty, which gettext reads as the original.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from attncli.documents.document import (
    Document,
    DocumentOptions,
    DocumentSegment,
    Kept,
    language_segment,
    string_segment,
)

STRING = r'"((?:[^"\\\r\n]|\\.)*)"'
FIELD = re.compile(
    rf"^[ \t]*(?P<name>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<form>\d+)\])?[ \t]*"
    rf"(?P<value>{STRING}[ \t]*(?:(?:\r\n|\n|\r)[ \t]*{STRING}[ \t]*)*)$",
    re.MULTILINE,
)
ONE_FORM = re.compile(r"nplurals\s*=\s*1\s*;")  # a language without a singular
LANGUAGE = re.compile(r"\bLanguage:[ \t]*(?P<code>[^\\\"\s]*)")
ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
WRITTEN = {"\\": "\\\\", '"': '\\"', **{sign: f"\\{letter}" for letter, sign in LETTERS.items()}}


class Field(NamedTuple):
    """A string of an entry."""

    name: str  # msgctxt, msgid, msgid_plural or msgstr
    form: int  # number of the plural form; 0 without one
    start: int  # span of its quoted strings
    end: int
    text: str


def read(content: str, options: DocumentOptions) -> Document:
    """Return the empty translations of a file."""
    line_end = "\r\n" if "\r\n" in content else "\n"
    segments: list[DocumentSegment | None] = []
    kept: list[Kept] = []
    singular = plural = header = ""
    entry, before = 0, ""  # where the entry begins; the name of the last field
    for field in fields_of(content):
        if field.name == "msgctxt" or (field.name == "msgid" and before != "msgctxt"):
            entry = content.rfind("\n", 0, content.rfind(field.name, 0, field.start)) + 1
        before = field.name
        if field.name == "msgid":
            singular = plural = field.text
        elif field.name == "msgid_plural":
            plural = field.text
        elif field.name == "msgstr" and not singular:
            header = header or field.text
            raw = content[field.start : field.end]
            if options.to and (code := LANGUAGE.search(raw)):
                start, end = (field.start + n for n in code.span("code"))
                segments.append(language_segment(start, end, options.to.replace("-", "_")))
        elif field.name == "msgstr":
            if field.text:
                kept.append(Kept(field.start, "entries that are translated"))
                continue
            source = plural if field.form or ONE_FORM.search(header) else singular
            segment = string_segment(
                field.start, field.end, source, lambda text: quoted(text, line_end)
            )
            segments.append(segment and segment._replace(flag=entry))
    return Document(content, tuple(filter(None, segments)), tuple(kept))


def fields_of(content: str) -> Iterator[Field]:
    """Yield the strings of a file that are not in comments."""
    for found in FIELD.finditer(content):
        start = found.start("value")
        end = start + len(found["value"].rstrip(" \t"))
        text = "".join(ESCAPE.sub(_character, part) for part in re.findall(STRING, found["value"]))
        yield Field(found["name"], int(found["form"] or 0), start, end, text)


def quoted(text: str, line_end: str = "\n") -> str:
    r"""Return a string of a PO file; one with several lines has each ``\n`` at the end of one."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    parts = ['"' + "".join(WRITTEN.get(sign, sign) for sign in line) + '"' for line in lines]
    if len(parts) > 1:
        parts.insert(0, '""')
    return line_end.join(parts) or '""'


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return chr(int(code, 8)) if code.isdigit() else LETTERS.get(code, code)
