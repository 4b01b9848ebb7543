"""JSON lines: chosen string values of the object on each line."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import NamedTuple

from attncli.documents.document import Document, DocumentOptions, DocumentSegment, Fault
from attncli.documents.strings import string_segment
from models.base.errors import ConfigurationError, unknown_name

SPACE = re.compile(r"[ \t\r]*")
SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
DECODER = json.JSONDecoder()
DEEPEST = 100  # arrays and objects inside each other
NOT_JSON = "not JSON"


class Value(NamedTuple):
    """A string in a line, with its quotes."""

    path: str  # names of the fields that lead to it: meta.title
    start: int
    end: int
    text: str


def read(content: str, options: DocumentOptions) -> Document:
    """Return the values of the chosen fields of every line."""
    if not options.fields and not options.keep:
        raise ConfigurationError(
            "JSON lines without a chosen field",
            "--field NAME, or -s input.keep=NAME for all others",
        )
    segments: list[DocumentSegment | None] = []
    faults: list[Fault] = []
    seen: set[str] = set()
    quote = partial(json.dumps, ensure_ascii=content.isascii() and "\\u" in content)
    for found in re.finditer(r"[^\n\ufeff][^\n]*", content):
        at, line = found.start(), _Line(found[0])
        try:
            line.read()
        except ValueError:
            faults.append(Fault(at, NOT_JSON))
            continue
        seen |= line.paths
        for path, start, end, text in line.strings:
            if _is_wanted(path, options):
                segments.append(string_segment(at + start, at + end, text, quote))
    _check_fields(options, seen)
    return Document(content, tuple(filter(None, segments)), (), tuple(faults))


def _is_wanted(path: str, options: DocumentOptions) -> bool:
    """Return True if a field is to be translated: one of the chosen, or inside of one."""
    names = options.fields or options.keep
    chosen = any(path == name or path.startswith(f"{name}.") for name in names)
    return chosen if options.fields else not chosen


def _check_fields(options: DocumentOptions, seen: set[str]) -> None:
    """Raise ModelError for a field that no line has."""
    for name in (*options.fields, *options.keep):
        if seen and not any(path == name or path.startswith(f"{name}.") for path in seen):
            raise unknown_name("field", name, seen)


class _Line:
    """The strings of a line of JSON, with their positions."""

    def __init__(self, line: str) -> None:
        self.line, self.at = line, 0
        self.strings: list[Value] = []
        self.paths: set[str] = set()  # of all fields

    def read(self) -> None:
        """Read the line; raise ValueError for a line that is not JSON."""
        self._spaces()
        if self.at < len(self.line):
            self._value("", 0)
            if self.at < len(self.line):
                raise ValueError("more than one value")

    def _value(self, path: str, depth: int) -> None:
        """Read a value and the spaces after it."""
        if depth > DEEPEST:
            raise ValueError("too deep")
        sign = self.line[self.at : self.at + 1]
        if sign == "{":
            self._members("}", path, depth)
        elif sign == "[":
            self._members("]", path, depth)
        elif sign == '"':
            start, text = self.at, self._string()
            self.strings.append(Value(path, start, self.at, text))
        else:
            self._pattern(SCALAR)
        self._spaces()

    def _spaces(self) -> None:
        self._pattern(SPACE)

    def _members(self, end: str, path: str, depth: int) -> None:
        """Read the members of an object or an array."""
        self.at += 1
        self._spaces()
        begun = False
        while begun or not self.line.startswith(end, self.at):
            self._value(self._name(path) if end == "}" else path, depth + 1)
            begun = not self.line.startswith(end, self.at)
            if begun:
                self._sign(",")
        self.at += 1

    def _name(self, path: str) -> str:
        """Read the name of a member and return the path of the member."""
        name = self._string()
        inner = f"{path}.{name}" if path else name
        self.paths.add(inner)
        self._spaces()
        self._sign(":")
        return inner

    def _string(self) -> str:
        if not self.line.startswith('"', self.at):
            raise ValueError("no string")
        text, self.at = DECODER.raw_decode(self.line, self.at)
        assert isinstance(text, str)
        return text

    def _sign(self, sign: str) -> None:
        if not self.line.startswith(sign, self.at):
            raise ValueError(f"no {sign}")
        self.at += 1
        self._spaces()

    def _pattern(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.line, self.at)
        if not found:
            raise ValueError("no value")
        self.at = found.end()
