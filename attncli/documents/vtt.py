"""WebVTT subtitles: blocks with a line of times and lines of text; notes and styles are kept."""

from __future__ import annotations

import re

from attncli.documents.document import Document, DocumentOptions, DocumentSegment, Kept
from attncli.documents.inline import escaped
from attncli.documents.subtitles import cue_segments, lines_of, text_runs

TAG = re.compile(
    r"<(?P<close>/)?(?P<name>[A-Za-z]+)[^<>]*>|<[^<>]*>|&[A-Za-z]+;|&#[xX]?[0-9A-Fa-f]+;"
)
KEPT = {"NOTE": "notes", "STYLE": "styles", "REGION": "regions"}


def read(content: str, options: DocumentOptions) -> Document:
    """Return the text of the subtitles; notes are not translated."""
    lines = lines_of(content)
    segments: list[DocumentSegment] = []
    kept: list[Kept] = []
    for run in text_runs(content, lines, [True] * len(lines)):
        texts = [content[line.start : line.end] for line in run]
        times = next((n for n, text in enumerate(texts) if "-->" in text), None)
        word = texts[0].split()[0]
        if times is not None and run[times + 1 :]:
            segments += cue_segments(content, run[times + 1 :], TAG, escaped)
        elif times is None and word in KEPT:
            kept.append(Kept(run[0].start, KEPT[word]))
    return Document(content, tuple(segments), tuple(kept))
