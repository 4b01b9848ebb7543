"""Text to units: the user's words, the model's pieces, or characters, and which piece is whose.

A piece stands for some characters of the text; where it stands for those of several units, it
belongs to each in proportion.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.config import AlignConfig
from models.errors import unknown_name
from models.settings import limits_of

KINDS = limits_of(AlignConfig, "units").choices
JOINER = "\u200d"  # between the characters of one emoji

Span = tuple[int, int]  # first character of a text, and the one after the last


class Units(NamedTuple):
    """What of a text is linked, and how its pieces are shared among it."""

    texts: tuple[str, ...]  # N of them
    spans: tuple[Span, ...]  # where each stands in the text, in characters
    shares: Tensor  # (P, N) of each piece; a row sums to 1, or to 0 for a mark or a space


def units(
    processor: Any, ids: Sequence[int], text: str | None = None, *, kind: str = "word", marks: bool
) -> Units:
    """The units of a text that SentencePiece has cut into these ids.

    text: as the user wrote it; where it is None, or is not what the ids stand for, their own text.
    marks: whether pieces of punctuation count with the word they are glued to.
    """
    spoken, pieces = spell(processor, ids)
    said = spoken if text is None or len(text) != len(spoken) else text
    if kind == "piece":
        real = [n for n, number in enumerate(ids) if not processor.is_control(number)]
        texts = tuple(processor.id_to_piece(ids[n]) for n in real)
        return Units(texts, tuple(pieces[n] for n in real), torch.eye(len(ids))[:, real])
    spans = cut(said, kind)
    table = shares(pieces, spans)
    if not marks and kind == "word":
        table = without_marks(table, [said[max(0, a) : b] for a, b in pieces])
    return Units(tuple(said[a:b] for a, b in spans), tuple(spans), table)


def cut(text: str, kind: str) -> list[Span]:
    """Where the words, or the characters, of a text stand."""
    if kind == "word":
        return [found.span() for found in re.finditer(r"\S+", text)]
    if kind != "char":
        raise unknown_name("units", kind, KINDS)
    spans: list[Span] = []
    for place, character in enumerate(text):
        if spans and spans[-1][1] == place and _joins(text[place - 1], character):
            spans[-1] = (spans[-1][0], place + 1)
        elif not character.isspace():
            spans.append((place, place + 1))
    return spans


def _joins(before: str, character: str) -> bool:
    """Whether a character is part of the one before: an accent, a vowel sign, an emoji's part."""
    return JOINER in (before, character) or unicodedata.category(character)[0] == "M"


def spell(processor: Any, ids: Sequence[int]) -> tuple[str, list[Span]]:
    """The text that ids stand for, and where in it each stands; control marks nowhere.

    The text begins after the space that SentencePiece puts before it, which is at -1. An output
    may be without: a model can begin with any piece.
    """
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    text, spans = "", []
    for number in ids:
        start, content = len(text), _content(processor, number)
        text += decoder.decode(content)
        pending = bool(decoder.getstate()[0])  # a character of which a byte is said
        spans.append((start, len(text) + pending) if content else (0, 0))
    text += decoder.decode(b"", final=True)
    before = text.startswith(" ")
    return text[before:], [
        (start - before, end - before) if end > start else (0, 0) for start, end in spans
    ]


def _content(processor: Any, number: int) -> bytes:
    """What a piece stands for in the text; a control mark is nothing."""
    if processor.is_control(number):
        return b""
    piece = processor.id_to_piece(number)
    if processor.is_byte(number):  # <0xE2>
        return bytes([int(piece[1:-1], 16)])
    return str(piece).replace("\u2581", " ").encode()


def shares(pieces: Sequence[Span], spans: Sequence[Span]) -> Tensor:
    """Which part (P, N) of each piece belongs to each unit; a lone space to the next one."""
    rows, first = [], 0
    for start, end in pieces:
        row = [0.0] * len(spans)
        rows.append(row)
        if end <= start:
            continue
        while first < len(spans) and spans[first][1] <= start:
            first += 1  # pieces and units both go forward
        for n in range(first, len(spans)):
            if spans[n][0] >= end:
                break
            row[n] = float(min(end, spans[n][1]) - max(start, spans[n][0]))
        if total := sum(row):
            row[:] = [part / total for part in row]
        elif first < len(spans):
            row[first] = 1.0
    return torch.tensor(rows).view(len(pieces), len(spans))


def without_marks(table: Tensor, pieces: Sequence[str]) -> Tensor:
    """The shares (P, N) without the marks that are glued to a word.

    A full stop is where attention rests that has nowhere to go; it must not count for the word
    before it. A unit of marks alone keeps them.
    """
    speaks = torch.tensor([any(c.isalnum() for c in piece) for piece in pieces])  # (P,)
    worded = (table[speaks] > 0).any(0)  # (N,)
    return table * (speaks[:, None] | ~worded)
