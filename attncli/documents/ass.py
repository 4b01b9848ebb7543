r"""Subtitles of SubStation Alpha: the texts of the dialogue; `{\i1}`, `\N` and drawings stay."""

from __future__ import annotations

import re

from attncli.documents.document import Document, DocumentOptions, DocumentSegment
from attncli.documents.subtitles import TextLine, cue_segments

LINE = re.compile(r"^(?P<kind>Format|Dialogue):[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)
# {\i1} and {\i0} are a pair; all other overrides stand for themselves
TAG = re.compile(
    r"\{\\(?P<name>[ibus])(?:(?P<close>0)|[1-9]\d{0,2})\}|(?P<other>\{[^{}]*\}|\\[nh])"
)
DRAWING = re.compile(r"\{[^{}]*\\p[1-9][^{}]*\}")


def read(content: str, options: DocumentOptions) -> Document:
    """Return the texts of the dialogue."""
    segments: list[DocumentSegment] = []
    commas = 9  # before the text, unless a format line tells another number
    for found in LINE.finditer(content):
        value = found["value"]
        if found["kind"] == "Format":
            commas = value.count(",")
            continue
        at = found.start("value")
        for _ in range(commas):
            at = content.find(",", at, found.end()) + 1 or found.end()
        if not DRAWING.search(content, at, found.end()):
            segments += cue_segments(content, [TextLine(at, found.end())], TAG, _encoded)
    return Document(content, tuple(segments))


def _encoded(text: str) -> str:
    return text.replace("{", "(").replace("}", ")")
