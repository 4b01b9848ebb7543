"""Plain text: every line with letters is a segment."""

from __future__ import annotations

import re

from attncli.documents.document import Document
from attncli.documents.inline import inline_segment, text_piece

LINE = re.compile(r"[^\r\n]+")


def read_lines(content: str) -> Document:
    """Return the lines of a text."""
    pieces = (text_piece(content, *found.span()) for found in LINE.finditer(content))
    segments = (inline_segment([piece]) for piece in pieces)
    return Document(content, tuple(segment for segment in segments if segment))
