"""Words and tokens of a text."""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from models.core.errors import unknown_name
from models.core.settings import limits_of
from models.core.types import Span
from models.core.use_config import AlignConfig
from models.text.lexicon import CLOSE, OPEN, VISIBLE, FoundForm, UnitEntry
from models.text.tokenizer import SPACE

if TYPE_CHECKING:
    from torch import Tensor

KINDS = limits_of(AlignConfig, "units").choices
JOINER = "\u200d"  # between the characters of one emoji


class Units(NamedTuple):
    """Units of a text that can be linked, and the share of each token in them."""

    texts: tuple[str, ...]  # of N units
    spans: tuple[Span, ...]  # of each unit, in characters
    shares: Tensor  # (P, N) of P tokens; a row sums to 1, or 0 (punctuation, control tokens)
    entries: tuple[UnitEntry, ...] = ()  # that are read in the places of forms


class SourceText(NamedTuple):
    """The text of ids with the forms of entries in the places of their candidates."""

    text: str
    tokens: list[Span]  # of each id: characters of the text; all tokens of an entry have its form
    forms: list[Span]  # of each entry


def units(
    processor: Any,
    ids: Sequence[int],
    text: str | None = None,
    *,
    kind: str = "word",
    marks: bool,
    entries: Sequence[FoundForm] = (),
) -> Units:
    """Return the units of a text, given the ids that SentencePiece encoded it as.

    text: as the user wrote it; the default is the text of the ids, which is also used if the
    lengths differ. kind: word, piece or char. marks: True if punctuation tokens count as part of
    the word that they are attached to. entries: of the text, that are among the ids.
    """

    import torch

    decoded, tokens, forms = source_text(processor, ids, text or "", entries)
    written = decoded if text is None or len(text) != len(decoded) else text
    if kind == "piece":
        real = [n for n, number in enumerate(ids) if not processor.is_control(number)]
        texts = tuple(processor.id_to_piece(ids[n]).translate(VISIBLE) for n in real)
        spans, table = [tokens[n] for n in real], torch.eye(len(ids))[:, real]
    else:
        spans = unit_spans(written, kind)
        texts = tuple(written[a:b] for a, b in spans)
        table = token_shares(tokens, spans)
    if not marks and kind == "word":
        table = without_marks(table, [written[max(0, a) : b] for a, b in tokens])
    read = tuple(
        UnitEntry(next(n for n, (_, end) in enumerate(spans) if end > a), decoded[a:b], each)
        for (a, b), (_, _, each, *_) in zip(forms, entries, strict=True)
    )
    return Units(texts, tuple(spans), table, read)


def source_text(
    processor: Any, ids: Sequence[int], text: str, entries: Sequence[FoundForm]
) -> SourceText:
    """Return the text of ids, with the forms of its entries; see `decoded_spans`.

    text: the text that has the entries.
    """
    decoded, spans = decoded_spans(processor, ids)
    if not entries:
        return SourceText(decoded, spans, [])
    opened, closed = (
        [n for n, number in enumerate(ids) if processor.id_to_piece(number) == mark]
        for mark in (OPEN, CLOSE)
    )
    written, place, following = "", 0, 0  # text; end of the last entry: character and token
    tokens, forms = list[Span](), list[Span]()
    for entry, start, end in zip(entries, opened, closed, strict=True):
        tokens += _shifted(spans[following:start], len(written) - place)
        written += decoded[place : spans[start][0]]
        written += " " if written and text[: entry.start].endswith(" ") else ""
        forms.append((len(written), len(written) + entry.end - entry.start))
        tokens += [forms[-1]] * (end + 1 - start)
        written += text[entry.start : entry.end]
        place, following = spans[end][1], end + 1
    tokens += _shifted(spans[following:], len(written) - place)
    return SourceText(written + decoded[place:], tokens, forms)


def _shifted(spans: Sequence[Span], by: int) -> list[Span]:
    """Return spans moved by a number of characters; those of control tokens stay."""
    return [(start + by, end + by) if end > start else (0, 0) for start, end in spans]


def unit_spans(text: str, kind: str) -> list[Span]:
    """Return the spans of the words, or of the characters, of a text."""
    if kind == "word":
        return [found.span() for found in re.finditer(r"\S+", text)]
    if kind != "char":
        raise unknown_name("units", kind, KINDS)
    spans: list[Span] = []
    for place, character in enumerate(text):
        # an accent, a vowel sign or a part of an emoji combines with the previous character
        is_joined = JOINER in (text[place - 1], character)
        joins = is_joined or unicodedata.category(character)[0] == "M"
        if spans and spans[-1][1] == place and joins:
            spans[-1] = (spans[-1][0], place + 1)
        elif not character.isspace():
            spans.append((place, place + 1))
    return spans


def decoded_spans(processor: Any, ids: Sequence[int]) -> tuple[str, list[Span]]:
    """Return the text of ids, and the span of each id in it; (0, 0) for control tokens.

    The leading space that SentencePiece adds is removed, so it has position -1. An output may have
    no leading space, because a model can begin with any token.
    """
    # incremental, because one character may be several byte tokens
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, spans = "", []
    for number in ids:
        start, content = len(text), _content(processor, number)
        text += decoder.decode(content).replace(SPACE, " ")  # a word spelled in bytes has the mark
        pending = bool(decoder.getstate()[0])  # a character whose bytes are not all read yet
        spans.append((start, len(text) + pending) if content else (0, 0))
    text += decoder.decode(b"", final=True)
    before = text.startswith(" ")
    return text[before:], [
        (start - before, end - before) if end > start else (0, 0) for start, end in spans
    ]


@lru_cache(maxsize=1 << 15)
def _content(processor: Any, number: int) -> bytes:
    """Return the bytes of a token in the text; none for a control token."""
    if processor.is_control(number):
        return b""
    piece = processor.id_to_piece(number)
    if processor.is_byte(number):  # <0xE2>
        return bytes([int(piece[1:-1], 16)])
    return str(piece).replace(SPACE, " ").encode()


def token_shares(tokens: Sequence[Span], spans: Sequence[Span]) -> Tensor:
    """Return the share (P, N) of each token in each unit; a lone space belongs to the next unit."""

    import torch

    rows, first = [], 0
    for start, end in tokens:
        row = [0.0] * len(spans)
        rows.append(row)
        if end <= start:
            continue
        while first < len(spans) and spans[first][1] <= start:
            first += 1  # tokens and units are both in text order
        for n in range(first, len(spans)):
            if spans[n][0] >= end:
                break
            row[n] = float(min(end, spans[n][1]) - max(start, spans[n][0]))
        if total := sum(row):
            row[:] = [part / total for part in row]
        elif first < len(spans):
            row[first] = 1.0
    return torch.tensor(rows).view(len(tokens), len(spans))


def without_marks(table: Tensor, tokens: Sequence[str]) -> Tensor:
    """Return the shares (P, N) with 0 for punctuation that is attached to a word.

    Attention without a clear target often falls on the full stop. This weight must not count for
    the word before it. A unit that consists of punctuation alone keeps its tokens.
    """

    import torch

    is_word = torch.tensor([any(c.isalnum() for c in token) for token in tokens])  # (P,)
    has_word = (table[is_word] > 0).any(0)  # (N,)
    return table * (is_word[:, None] | ~has_word)
