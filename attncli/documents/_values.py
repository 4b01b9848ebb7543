"""Chosen values of tables (CSV, TSV), JSON, JSON lines, ARB and YAML.

Cells of a table are separated by a comma, semicolon, tab or bar, whichever the first line has most
of; one in double quotes may hold separators, line ends and doubled quotes (RFC 4180).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, groupby
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

import yaml

from attncli.documents._messages import with_pairs
from attncli.documents.document import (
    DocumentOptions,
    DocumentPart,
    DocumentSegment,
    Kept,
    language_segment,
    string_segment,
)
from models.core.errors import ConfigurationError, InputError, UnknownNameError, unknown_name

DELIMITERS = ",;\t|"
DEEP = "*."  # before the name of a field: at any depth
TOKEN = re.compile(r'["{}\[\]]')
COLON = re.compile(r"[ \t\r]*:")
LONGEST = 1000  # characters of the path of a field; names of fields are shorter
LOCALE = re.compile(r'"@@locale"\s*:\s*"(?P<code>[^"\\]*)"')  # of an ARB file
TEXT = "tag:yaml.org,2002:str"
DAMAGED = (yaml.YAMLError, RecursionError, ValueError, OverflowError)
MARKS = re.compile(r"(?:[&!]\S*\s+)+")  # an anchor and a tag
LANGUAGE = re.compile(r"[a-z]{2,3}([-_]\w+)?")


class Cell(NamedTuple):
    """A cell with its span and its value."""

    start: int
    end: int
    text: str
    quoted: bool


def read_table(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the cells of the chosen columns. The first row is left as it is if it names them."""
    first_line = re.sub(r'"[^"]*"', "", content.lstrip("\ufeff").split("\n", 1)[0])
    delimiter = options.delimiter or max(DELIMITERS, key=first_line.count)
    rows = rows_of(content, delimiter)
    first = next(rows, [])
    columns, named = _columns(options.columns, [cell.text for cell in first])
    for row in rows if named else chain([first], rows):
        for start, end, text, quoted in (row[n] for n in columns if n < len(row)):
            quote = partial(_quoted_cell, delimiter=delimiter, always=quoted)
            yield string_segment(start, end, text, quote)


def rows_of(content: str, delimiter: str) -> Iterator[list[Cell]]:
    """Yield the rows of a table as cells with their spans."""
    sign = re.escape(delimiter)
    pattern = re.compile(
        rf'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"(?={sign}|\r|\n|\Z)|(?P<plain>[^{sign}\r\n]*))'
        rf"(?P<then>{sign}|\r\n|\n|\r|\Z)"
    )
    at, row = int(content.startswith("\ufeff")), list[Cell]()
    while at < len(content) or row:
        found = pattern.match(content, at)
        assert found  # "plain" matches anything
        quoted = found["quoted"] is not None
        text = found["quoted"].replace('""', '"') if quoted else found["plain"]
        row.append(Cell(at, found.start("then"), text, quoted))
        at = found.end()
        if found["then"] != delimiter:
            yield row
            row = []


def _columns(wanted: Sequence[str], names: list[str]) -> tuple[list[int], bool]:
    """Return the indices of the wanted columns in order, and True if they were given by name."""
    if not wanted:
        raise ConfigurationError(
            "a table without a chosen column",
            f"--column and one of {', '.join(names) or 'its columns'}",
            "give a number, from 1, if the first row holds no names",
        )
    named = not all(name.isdecimal() and name not in names for name in wanted)
    known = names if named else [str(number + 1) for number in range(max(1, len(names)))]
    for name in wanted:
        if name not in known:
            raise unknown_name("column", name, known)
    return sorted({known.index(name) for name in wanted}), named


def _quoted_cell(text: str, *, delimiter: str, always: bool) -> str:
    """Return a cell, in quotes where it was quoted or needs to be."""
    if always or re.search(rf'[{re.escape(delimiter)}\r\n]|^"', text):
        return '"' + text.replace('"', '""') + '"'
    return text


def _is_chosen(path: str, options: DocumentOptions) -> bool:
    """Return True if the value of a field is translated. path: names with dots, as meta.title."""
    return _leads_to(path, options.fields or options.keep) == bool(options.fields)


def _leads_to(path: str, names: Iterable[str]) -> bool:
    """Return True for one of some fields, and for a field inside of one; *.name is at any depth."""
    return any(
        f".{name[2:]}." in f".{path}."
        if name.startswith(DEEP)
        else path == name or path.startswith(f"{name}.")
        for name in names
    )


def _check_fields(options: DocumentOptions, known: Collection[str]) -> None:
    """Raise UnknownNameError for a field that a document with fields lacks."""
    for name in (*options.fields, *options.keep):
        if known and not any(_leads_to(path, [name]) for path in known):
            raise unknown_name("field", name, known)


def read_json(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the values of all fields of a JSON file, or of the chosen ones."""
    text = content.removeprefix("\ufeff")
    if not _is_json(text):
        raise InputError("a document that is not JSON", "a JSON file", "mend it")
    if re.match(r'\s*\{\s*"sourceLanguage"\s*:', text):
        raise InputError("a string catalogue of Xcode", "an export of it as .xliff")
    if not (options.fields or options.keep) and _has_messages(text):
        options = replace(options, fields=(f"{DEEP}message",))
    found = partial(_json_values, content, [(len(content) - len(text), text)])
    try:
        values = [*found(options)]
    except UnknownNameError as error:  # perhaps inside of another field
        deep = [tuple(DEEP + name for name in each) for each in (options.fields, options.keep)]
        try:
            values = [*found(replace(options, fields=deep[0], keep=deep[1]))]
        except UnknownNameError:
            raise error from None
    yield from _without_abbreviations(values)


def _has_messages(text: str) -> bool:
    """Return True for the messages of an extension of a browser, with notes for translators."""
    values = json.loads(text) if '"message"' in text else {}
    messages = values.values() if isinstance(values, dict) else ()
    return bool(messages) and all(isinstance(one, dict) and "message" in one for one in messages)


def read_arb(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the messages of an Application Resource Bundle, without their descriptions."""
    for segment in read_json(content, options):
        if not (isinstance(segment, DocumentSegment) and segment.key.startswith("@")):
            yield segment
    if options.to and (code := LOCALE.search(content)):
        yield language_segment(code.span("code"), options.to)


def read_json_lines(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the values of the chosen fields of every line."""
    if not options.fields and not options.keep:
        raise ConfigurationError(
            "JSON lines without a chosen field",
            "--field NAME, or -s input.keep=NAME for all others",
        )
    lines: list[tuple[int, str]] = []
    for found in re.finditer(r"[^\n\ufeff][^\n]*", content):
        if _is_json(found[0]):
            lines.append((found.start(), found[0]))
        elif found[0].strip(" \t\r"):
            yield Kept(found.start(), "not JSON", is_fault=True)
    yield from _json_values(content, lines, options)


def _without_abbreviations(parts: Iterable[DocumentPart]) -> Iterator[DocumentPart]:
    """Yield parts; of a list of abbreviations, as of months, that it is left as it is."""
    for key, group in groupby(parts, lambda part: getattr(part, "key", "")):
        found = [*group]
        words = [" ".join(getattr(part, "texts", ())).rstrip(".") for part in found]
        short = re.compile(r"[^\W\d_]{1,4}" if len(words) >= 7 else r"[^\W\d_]{3}")
        if key and len(words) > 1 and all(map(short.fullmatch, words)):
            yield Kept(found[0].start, "abbreviations")  # type: ignore[union-attr]
        else:
            yield from found


def _is_json(text: str) -> bool:
    try:
        # int refuses the constants NaN and Infinity, which are not JSON
        json.loads(text, parse_int=str, parse_float=str, parse_constant=int)
    except (ValueError, RecursionError):
        return False
    return True


def _json_values(
    content: str, texts: Iterable[tuple[int, str]], options: DocumentOptions
) -> Iterator[DocumentSegment | None]:
    """Yield the chosen values of the parts of a content that are JSON, each with its place."""
    names: set[str] = set()
    quote = partial(json.dumps, ensure_ascii=content.isascii() and "\\u" in content)
    for at, text in texts:
        outer, path = [""], ""  # the paths of the open objects and arrays, and of the current value
        end = 0
        while found := TOKEN.search(text, end):
            start, end = found.span()
            if found[0] == '"':
                value, end = scanstring(text, end)
                if COLON.match(text, end):
                    path = (f"{outer[-1]}.{value}" if outer[-1] else value)[:LONGEST]
                    names.add(path)
                elif _is_chosen(path, options):
                    yield string_segment(at + start, at + end, value, quote, path)
            elif found[0] in "{[":
                outer.append(path)
            else:
                path = outer.pop()
    _check_fields(options, names)


def read_yaml(content: str, options: DocumentOptions, *, start: int = 0) -> Iterator[DocumentPart]:
    """Yield the chosen texts of YAML; comments, anchors and order stay.

    A single outermost key that is a language code, as in Rails, becomes the target language. start:
    position in the document. Raises InputError for other text.
    """
    text = content.removeprefix("\ufeff")
    start += len(content) - len(text)
    try:
        roots = list(yaml.compose_all(text, yaml.SafeLoader))
    except DAMAGED as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where else ""
        raise InputError(f"a document that is not YAML{line}", "YAML", "mend it") from None
    names: set[str] = set()
    for root in roots:
        pairs = root.value if options.to and getattr(root, "id", "") == "mapping" else []
        if [(key.id, inner.id) for key, inner in pairs] == [("scalar", "mapping")]:
            [(key, _)] = pairs
            if LANGUAGE.fullmatch(key.value):
                span = (start + key.start_mark.index, start + key.end_mark.index)
                yield language_segment(span, options.to)
        scalars = [*_scalars(root, "", set())]
        names.update(path for path, _ in scalars)
        chosen = ((path, node) for path, node in scalars if _is_chosen(path, options))
        yield from _without_abbreviations(
            _scalar_segment(text, node, start, path) for path, node in chosen
        )
    _check_fields(options, names)


def _scalars(node: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """Yield the texts with the paths of their keys; of an anchor and its aliases, the anchor."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if node.id == "scalar" and node.tag == TEXT:
        yield path, node
    elif node.id == "sequence":
        for inner in node.value:
            yield from _scalars(inner, path, seen)
    elif node.id == "mapping":
        for key, inner in node.value:
            name = str(key.value)
            yield from _scalars(inner, (f"{path}.{name}" if path else name)[:LONGEST], seen)


def _scalar_segment(text: str, node: Any, start: int, path: str) -> DocumentSegment | None:
    first, last = node.start_mark.index, node.end_mark.index
    if marks := MARKS.match(text, first, last):
        first = marks.end()
    raw = text[first:last].rstrip()
    if node.style in ("|", ">"):
        header, *lines = re.split(r"(?<=\n)", raw)
        body = next((line for line in lines if line.strip()), "")
        indent = body[: len(body) - len(body.lstrip(" "))]
        quote = partial(_block, header=header, indent=indent, folded=node.style == ">")
        value = node.value.rstrip("\n")
    else:
        quote, value = partial(_quoted_scalar, style=node.style or ""), with_pairs(node.value)
    return string_segment(start + first, start + first + len(raw), value, quote, path)


def _block(text: str, *, header: str, indent: str, folded: bool) -> str:
    lines = text.split("\n")
    joint = ("\r\n" if header.endswith("\r\n") else "\n") * (2 if folded else 1)
    return header + joint.join(f"{indent}{line}" if line else "" for line in lines)


def _quoted_scalar(text: str, *, style: str) -> str:
    if style == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    try:
        read = [] if style else yaml.compose(f"[{text}]", yaml.SafeLoader).value
    except DAMAGED:
        read = []
    is_plain = [(one.tag, one.value) for one in read] == [(TEXT, text)]
    return text if is_plain else json.dumps(text, ensure_ascii=False)
