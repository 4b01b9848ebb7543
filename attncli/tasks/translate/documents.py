"""Translation of a document: its segments as lines, then the document with the translations."""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby

from attncli.data.lines import Line, TranslatedLine
from attncli.documents.document import Document, DocumentOptions, Kept, Texts, reassemble
from attncli.documents.inline import read_lines
from attncli.documents.registry import PACKED, TEXT, read_document
from attncli.tags.parse import parse
from models.base.errors import InputError

REPORTED = 5  # line numbers that a message names
UNTRANSLATED, UNCHANGED = "texts without a translation", "texts whose translation is the same"
SURROGATES = ("\udc80", "\udcff")  # stand for bytes that are not UTF-8


def decoded(content: bytes) -> str:
    """Return the characters of a document; a byte that is not UTF-8 becomes a lone surrogate.

    Raises InputError for UTF-16, in which nothing would be found.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise InputError("a document in UTF-16", "UTF-8", "convert it: iconv -f UTF-16 -t UTF-8")
    return content.decode("utf-8", "surrogateescape")


def opened(content: bytes, format: str, options: DocumentOptions) -> Document:
    """Return the segments of a file; the format "text" has a segment per line.

    Raises ModelError for a damaged file, and for options that do not fit it.
    """
    if format in PACKED:
        return read_document(content, format, options)
    text = decoded(content)
    return read_lines(text) if format == TEXT else read_document(text, format, options)


def written(document: Document, outcomes: Sequence[TranslatedLine]) -> bytes:
    """Return the file of a document with the outcomes of its lines; see `translated`."""
    if document.save:
        return document.save([*_by_segment(document, outcomes)])
    return translated(document, outcomes).encode("utf-8", "surrogateescape")


def lines_of(document: Document) -> list[Line]:
    """Return a line for each text of each segment, with the line number of the segment."""
    number_of = line_numbers(document.content)
    return [
        Line(number_of(segment.start), text, fault=fault(text))
        for segment in document.segments
        for text in segment.texts
    ]


def needs_attention(document: Document) -> bool:
    """Return True if a text has tags, which the attention places in the output."""
    return any(parse(text).tags for segment in document.segments for text in segment.texts)


def translated(document: Document, outcomes: Sequence[TranslatedLine]) -> str:
    """Return the document with the outcomes of its lines.

    A segment of which one text could not be translated is left unchanged.
    """
    return reassemble(document, [*_by_segment(document, outcomes)])


def untranslated(document: Document, outcomes: Sequence[TranslatedLine]) -> Iterator[str]:
    """Yield a message for each kind of text that is left as it is."""
    number_of = line_numbers(document.content)
    kept = [*document.kept]
    for segment, texts in zip(document.segments, _by_segment(document, outcomes), strict=True):
        if texts is None or texts == segment.texts:
            kept.append(Kept(segment.start, UNTRANSLATED if texts is None else UNCHANGED))
    kept.sort(key=lambda one: one.kind)
    for kind, group in groupby(kept, lambda one: one.kind):
        at = sorted({number_of(one.start) for one in group})
        more = f" and {len(at) - REPORTED:,} more" if len(at) > REPORTED else ""
        named = ", ".join(map(str, at[:REPORTED])) + more
        yield f"left as they are: {kind}, {'line' if len(at) == 1 else 'lines'} {named}"


def faults(document: Document) -> Iterator[str]:
    """Yield a message for each part that could not be read."""
    number_of = line_numbers(document.content)
    for fault in document.faults:
        yield f"line {number_of(fault.start)}: {fault.found}; left as it is"


def line_numbers(content: str) -> Callable[[int], int]:
    """Return the function from a position in a content to the number of its line, from 1."""
    ends = [found.start() for found in re.finditer("\n", content)]
    return lambda position: bisect_left(ends, position) + 1


def fault(text: str) -> str:
    """Return why a text of a document cannot be translated; "" if it can."""
    first, last = SURROGATES
    return "not valid UTF-8" if any(first <= sign <= last for sign in text) else ""


def _by_segment(document: Document, outcomes: Sequence[TranslatedLine]) -> Iterator[Texts | None]:
    rest = iter(outcomes)
    for segment in document.segments:
        found = [next(rest) for _ in segment.texts]
        texts = tuple(one.translation.text for one in found if one.translation)
        complete = len(texts) == len(found) and not any(
            one.line.text.strip() and not text.strip()
            for one, text in zip(found, texts, strict=True)
        )
        yield texts if complete else None
