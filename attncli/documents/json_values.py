"""JSON: the string values of a file, or the chosen ones of the object on each line; ARB."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from attncli.documents.document import (
    Document,
    DocumentOptions,
    DocumentSegment,
    Fault,
    language_segment,
    string_segment,
)
from models.base.errors import ConfigurationError, InputError, unknown_name

TOKEN = re.compile(r'(?P<string>"(?:[^"\\]|\\.)*")(?P<colon>[ \t\r]*:)?|[{}\[\]]')


LOCALE = re.compile(r'"@@locale"\s*:\s*"(?P<code>[^"\\]*)"')  # of an ARB file


class Value(NamedTuple):
    """A string in a line, with its quotes, or the name of a field."""

    path: str  # names of the fields that lead to it: meta.title
    start: int
    end: int
    text: str
    is_name: bool


def read(content: str, options: DocumentOptions) -> Document:
    """Return the values of all fields of a JSON file, or of the chosen ones."""
    text = content.removeprefix("\ufeff")
    if not _is_json(text):
        raise InputError("a document that is not JSON", "a JSON file", "mend it")
    return _document(content, [(len(content) - len(text), text)], (), options)


def read_arb(content: str, options: DocumentOptions) -> Document:
    """Return the messages of an Application Resource Bundle, without their descriptions."""
    found = read(content, options)
    segments = [one for one in found.segments if not one.key.startswith("@")]
    if options.to and (code := LOCALE.search(content)):
        segments.append(language_segment(*code.span("code"), options.to))
    return replace(found, segments=tuple(sorted(segments, key=lambda one: one.start)))


def read_lines(content: str, options: DocumentOptions) -> Document:
    """Return the values of the chosen fields of every line."""
    if not options.fields and not options.keep:
        raise ConfigurationError(
            "JSON lines without a chosen field",
            "--field NAME, or -s input.keep=NAME for all others",
        )
    found = [(found.start(), found[0]) for found in re.finditer(r"[^\n\ufeff][^\n]*", content)]
    parts: list[tuple[int, str]] = []
    faults: list[Fault] = []
    for at, line in found:
        if _is_json(line):
            parts.append((at, line))
        elif line.strip(" \t\r"):
            faults.append(Fault(at, "not JSON"))
    return _document(content, parts, tuple(faults), options)


def _is_json(text: str) -> bool:
    try:
        # int refuses the constants NaN and Infinity, which are not JSON
        json.loads(text, parse_int=str, parse_float=str, parse_constant=int)
    except (ValueError, RecursionError):
        return False
    return True


def _document(
    content: str,
    parts: Sequence[tuple[int, str]],
    faults: tuple[Fault, ...],
    options: DocumentOptions,
) -> Document:
    """Return a document of the parts of a content that are JSON, each with its place."""
    segments: list[DocumentSegment | None] = []
    seen: set[str] = set()
    quote = partial(json.dumps, ensure_ascii=content.isascii() and "\\u" in content)
    for at, part in parts:
        for path, start, end, text, is_name in strings_of(part):
            if is_name:
                seen.add(path)
            elif leads_to(path, options.fields or options.keep) == bool(options.fields):
                segments.append(string_segment(at + start, at + end, text, quote, path))
    for name in (*options.fields, *options.keep):
        if seen and not any(leads_to(path, [name]) for path in seen):
            raise unknown_name("field", name, seen)
    return Document(content, tuple(filter(None, segments)), (), faults)


def strings_of(line: str) -> Iterator[Value]:
    """Yield the strings of a line of JSON with their positions."""
    outer, path = [""], ""  # the paths of the open objects and arrays, and of the current value
    for found in TOKEN.finditer(line):
        if found["string"]:
            text = json.loads(found["string"])
            if found["colon"]:
                path = f"{outer[-1]}.{text}" if outer[-1] else text
            yield Value(path, *found.span("string"), text, bool(found["colon"]))
        elif found[0] in "{[":
            outer.append(path)
        else:
            path = outer.pop()


def leads_to(path: str, names: Iterable[str]) -> bool:
    """Return True for one of some fields, and for a field inside of one."""
    return any(path == name or path.startswith(f"{name}.") for name in names)
