"""Lyrics: lines of a time and a text, `[00:12.00]A dog sees a house.`"""

from __future__ import annotations

import re

from attncli.documents.document import Document, DocumentOptions, string_segment

LINE = re.compile(r"^\ufeff?(?:\[\d+:\d+[.:]\d+\][ \t]*)+(?P<text>[^\r\n]+)", re.MULTILINE)


def read(content: str, options: DocumentOptions) -> Document:
    """Return the texts of the lines that have a time."""
    lines = LINE.finditer(content)
    segments = (string_segment(*line.span("text"), line["text"], str) for line in lines)
    return Document(content, tuple(filter(None, segments)))
