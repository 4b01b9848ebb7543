r"""SubRip subtitles: a number, a line of times, lines of text with ``<i>`` and ``{\an8}``."""

from __future__ import annotations

import re

from attncli.documents.document import Document, DocumentOptions
from attncli.documents.subtitles import cue_segments, lines_of, text_runs

TIME = re.compile(r"\s*(?:\d+:)?\d+:\d+[,.]\d+\s*-->\s*(?:\d+:)?\d+:\d+[,.]\d+.*")
TAG = re.compile(r"<(?P<close>/)?(?P<name>[A-Za-z]+)(?:\s[^<>]*)?>|\{\\[^{}]*\}|\\[Nnh]")


def read(content: str, options: DocumentOptions) -> Document:
    """Return the text of the subtitles."""
    lines = lines_of(content)
    texts = [content[line.start : line.end] for line in lines]
    times = [TIME.fullmatch(text) is not None for text in texts]
    is_text = [False] * len(lines)
    begun = False
    for at, text in enumerate(texts):
        begun |= times[at]
        number = text.strip().isdigit() and at + 1 < len(lines) and times[at + 1]
        is_text[at] = begun and not times[at] and not number
    runs = text_runs(content, lines, is_text)
    segments = (one for run in runs for one in cue_segments(content, run, TAG, _encoded))
    return Document(content, tuple(segments))


def _encoded(text: str) -> str:
    """Return a text that cannot be read as a line of times."""
    return text.replace("-->", "->")
