"""A document as content, segments to translate, and parts that are left as they are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from attncli.documents.wrap import balanced, continues

Texts = tuple[str, ...]


class DocumentSegment(NamedTuple):
    """A span of the content that is replaced by the translation of its texts."""

    start: int  # first character
    end: int  # after the last character
    texts: Texts  # to translate, one line each; markup as tags of `attncli.tags`
    write: Callable[[Texts], str]  # from the translations to what replaces the span
    key: str = ""  # of a value, by which the same one is found in another file


class Kept(NamedTuple):
    """A part with words that is not translated."""

    start: int  # first character
    kind: str  # plural, for a message: "code blocks"


class Fault(NamedTuple):
    """A part that could not be read."""

    start: int  # first character
    found: str  # for a message: "not JSON"


@dataclass(frozen=True)
class Document:
    """The content of a document and its segments, in order and without overlaps."""

    content: str
    segments: tuple[DocumentSegment, ...]
    kept: tuple[Kept, ...] = ()
    faults: tuple[Fault, ...] = ()
    # of a file that is not text: from the translations to its bytes. `content` then has a line for
    # each segment, so that messages can name it.
    save: Callable[[Sequence[Texts | None]], bytes] | None = None
    encoding: str = "utf-8"  # of a text file


@dataclass(frozen=True)
class DocumentOptions:
    """Choice of the parts of a table or of JSON that are translated."""

    columns: tuple[str, ...] = ()  # names, or numbers from 1
    fields: tuple[str, ...] = ()  # names; inner fields with a dot: meta.title
    keep: tuple[str, ...] = ()  # fields that are not translated, where all others are
    delimiter: str = ""  # of a table; empty: found in its first line
    to: str = ""  # the target language, which the document then names; empty: not named


def reassemble(document: Document, translations: Sequence[Texts | None]) -> str:
    """Return the content with its segments translated.

    translations: one entry per segment; None leaves the segment unchanged. A segment whose
    translation equals its texts is left unchanged as well. One without texts is always written.
    """
    parts, at = [], 0
    for segment, translated in zip(document.segments, translations, strict=True):
        if translated is not None and (not translated or translated != segment.texts):
            parts += [document.content[at : segment.start], segment.write(translated)]
            at = segment.end
    return "".join([*parts, document.content[at:]])


def with_existing(document: Document, existing: Document) -> Document:
    """Return a document with the values that another one has for the same keys.

    Only the segments that it lacks, or in which it has no words, remain to be translated.
    """
    known = {key: one for key, one in _keyed(existing)}
    found = [
        (segment, known.get(key) if segment.key else None) for key, segment in _keyed(document)
    ]
    parts, at, moved = [], 0, 0
    segments = []
    for segment, other in found:
        if other is None:
            shifted = segment._replace(start=segment.start + moved, end=segment.end + moved)
            segments.append(shifted)
            continue
        value = existing.content[other.start : other.end]
        parts += [document.content[at : segment.start], value]
        at = segment.end
        moved += len(value) - (segment.end - segment.start)
    content = "".join([*parts, document.content[at:]])
    return replace(document, content=content, segments=tuple(segments), kept=(), faults=())


def _keyed(document: Document) -> Iterator[tuple[tuple[str, int], DocumentSegment]]:
    """Yield the segments with their keys and how often a key occurred before, as in a list."""
    seen: Counter[str] = Counter()
    for segment in document.segments:
        yield (segment.key, seen[segment.key]), segment
        seen[segment.key] += 1


def language_segment(start: int, end: int, to: str, form: str = "{}") -> DocumentSegment:
    """Return the segment of the name of the document's language. form: what is written."""
    return DocumentSegment(start, end, (), lambda _: form.format(to))


def has_letters(text: str) -> bool:
    """Return True if a text has a letter, so that there is something to translate."""
    return any(map(str.isalpha, text))


LINE_END = re.compile(r"\r\n|\n|\r")
PARTS = re.compile(rf"({LINE_END.pattern}|[ ]*\t[ ]*|[ ]+\|[ ]+)")  # between the texts of a string
WRAPPED = 40  # characters of a line that was probably divided for its width


def string_segment(
    start: int, end: int, text: str, quote: Callable[[str], str], key: str = ""
) -> DocumentSegment | None:
    """Return the segment of a string; None if it has no letters.

    text: the value of the string. Its lines are texts of their own, but for a long one that goes on
    in the next line. quote: write a value as the document has it in this place.
    """
    if not has_letters(text):
        return None
    first, *rest = PARTS.split(text)
    texts, ends = [[first]], [""]  # lines of each text; what is between texts, and their lines
    for between, part in zip(rest[::2], rest[1::2], strict=True):
        long = LINE_END.fullmatch(between) and len(texts[-1][-1]) >= WRAPPED
        if long and continues(texts[-1][-1], part):
            texts[-1].append(part)
            ends[-1] = between
        else:
            texts.append([part])
            ends += [between, ""]
    joined = tuple(" ".join(map(str.strip, one)) if len(one) > 1 else one[0] for one in texts)
    layout = partial(_written, lines=[*map(len, texts)], ends=ends, quote=quote)
    return DocumentSegment(start, end, joined, layout, key)


def _written(
    texts: Texts, *, lines: Sequence[int], ends: Sequence[str], quote: Callable[[str], str]
) -> str:
    """Return a string of texts. ends: of the lines of each text, and between two texts."""
    found = ""
    for text, count, inner, outer in zip(texts, lines, ends[::2], [*ends[1::2], ""], strict=True):
        found += (inner.join(balanced(text, count)) if count > 1 else text) + outer
    return quote(found)
