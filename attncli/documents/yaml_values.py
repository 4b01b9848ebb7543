"""YAML: the texts of all keys, or of the chosen ones. A value keeps its style of quotes.

PyYAML tells the place and the style of each value; comments, anchors and order stay as they are. A
single outermost key that is a language code, as in Rails, becomes the target language.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import yaml

from attncli.documents.document import (
    Document,
    DocumentOptions,
    DocumentSegment,
    language_segment,
    string_segment,
)
from attncli.documents.json_values import leads_to
from models.base.errors import InputError, unknown_name

TEXT = "tag:yaml.org,2002:str"
MARKS = re.compile(r"(?:[&!]\S*\s+)+")  # an anchor and a tag
LOCALE = re.compile(r"[a-z]{2,3}([-_]\w+)?")


def read(content: str, options: DocumentOptions) -> Document:
    """Return the texts of a file."""
    text = content.removeprefix("\ufeff")
    return Document(content, tuple(segments_of(text, options, len(content) - len(text))))


def segments_of(text: str, options: DocumentOptions, start: int) -> list[DocumentSegment]:
    """Return the segments of YAML. start: its position in the document.

    Raises InputError for other text.
    """
    try:
        roots = list(yaml.compose_all(text, yaml.SafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where else ""
        raise InputError(f"a document that is not YAML{line}", "YAML", "mend it") from None
    found: list[DocumentSegment | None] = []
    names: set[str] = set()
    for root in roots:
        if options.to and (key := _locale(root)):
            span = (start + key.start_mark.index, start + key.end_mark.index)
            found.append(language_segment(*span, options.to))
        for path, node in _scalars(root, "", set()):
            names.add(path)
            if leads_to(path, options.fields or options.keep) == bool(options.fields):
                found.append(_segment(text, node, start, path))
    for name in (*options.fields, *options.keep):
        if names and not any(leads_to(path, [name]) for path in names):
            raise unknown_name("field", name, names)
    return sorted(filter(None, found), key=lambda one: one.start)


def _locale(root: Any) -> Any:
    """Return the key of a language if it is the only one of a document."""
    keys = [key for key, _ in root.value] if getattr(root, "id", "") == "mapping" else []
    is_locale = len(keys) == 1 and keys[0].id == "scalar" and LOCALE.fullmatch(keys[0].value)
    return keys[0] if is_locale and root.value[0][1].id == "mapping" else None


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
            yield from _scalars(inner, f"{path}.{name}" if path else name, seen)


def _segment(text: str, node: Any, start: int, path: str) -> DocumentSegment | None:
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
        quote, value = partial(_quoted, style=node.style or ""), node.value
    return string_segment(start + first, start + first + len(raw), value, quote, path)


def _block(text: str, *, header: str, indent: str, folded: bool) -> str:
    lines = text.split("\n")
    joint = ("\r\n" if header.endswith("\r\n") else "\n") * (2 if folded else 1)
    return header + joint.join(f"{indent}{line}" if line else "" for line in lines)


def _quoted(text: str, *, style: str) -> str:
    if style == "'" and "\n" not in text:
        return "'" + text.replace("'", "''") + "'"
    try:
        is_plain = not style and yaml.load(f"[{text}]", yaml.SafeLoader) == [text]
    except yaml.YAMLError:
        is_plain = False
    return text if is_plain else json.dumps(text, ensure_ascii=False)
