"""Plain text, and strings that hold whole texts, such as cells and values: a text per line."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial

from attncli.documents.document import Document, DocumentSegment, Texts, has_letters
from attncli.documents.inline import inline_segment, text_piece

LINE_END = re.compile(r"(\r\n|\n|\r)")


def read_lines(content: str) -> Document:
    """Return the lines of a plain text."""
    lines = re.finditer(r"[^\r\n]+", content)
    segments = (inline_segment([text_piece(content, *line.span())]) for line in lines)
    return Document(content, tuple(filter(None, segments)))


def string_segment(
    start: int, end: int, text: str, quote: Callable[[str], str]
) -> DocumentSegment | None:
    """Return the segment of a string; None if it has no letters.

    text: the value of the string. quote: write a value as the document has it in this place.
    """
    if not has_letters(text):
        return None
    parts = LINE_END.split(text)
    write = partial(_written, ends=parts[1::2], quote=quote)
    return DocumentSegment(start, end, tuple(parts[::2]), write)


def _written(texts: Texts, *, ends: Sequence[str], quote: Callable[[str], str]) -> str:
    lines = zip(texts, [*ends, ""], strict=True)
    return quote("".join(text + end for text, end in lines))
