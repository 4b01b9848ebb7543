"""Lyrics: lines of a time and a text, `[00:12.00]A dog sees a house.`"""

from __future__ import annotations

import re
from collections.abc import Iterator

from attncli.documents.document import DocumentOptions, DocumentPart, string_segment

LINE = re.compile(r"^\ufeff?(?:\[\d+:\d+[.:]\d+\][ \t]*)+(?P<text>[^\r\n]+)", re.MULTILINE)


def read(content: str, options: DocumentOptions) -> Iterator[DocumentPart]:
    """Yield the texts of the lines that have a time."""
    for line in LINE.finditer(content):
        yield string_segment(*line.span("text"), line["text"], str)
