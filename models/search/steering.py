"""Steering of an output, and the words that it could go on with. Imports no torch.

p(word) = the product of p(token) over the tokens of the word, after the prefix

The most probable tokens that begin a word are each continued by the most probable ones until
another word begins.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from models.core.errors import InputError
from models.core.types import Span
from models.text.tokenizer import END, SPACE, Tokenizer

MAX_ALTERNATIVES = 20  # words of a list
EXTRA, FIRST_TOKENS = 3, 8  # first tokens that are continued: EXTRA for each word, and some more
SPARE = 4  # words that are scored and can be left out
WORD_TOKENS = 8  # tokens of a word, at most


class Look(NamedTuple):
    """The only places that may be attended to while some output words are written."""

    places: tuple[Span, ...]  # first and one behind the last: characters of a text, or slots
    first: int = 0  # output word, counted from 1; 0: the first one behind the prefix
    last: int = 0  # output word; 0: the last one of the output


class Steering(NamedTuple):
    """What an output is made to do."""

    prefix: str = ""  # text that it begins with; a space behind it ends the last word
    looks: tuple[Look, ...] = ()  # of several for a word, the last one holds


PLAIN = Steering()


class TargetPrefix(NamedTuple):
    """A prefix as tokens, and as the pieces of a last word that may go on."""

    ids: tuple[int, ...] = ()
    open: str = ""
    ends: bool = False  # True if no token continues the last word

    @classmethod
    def of(cls, text: str, tokenizer: Tokenizer, start: Sequence[int] = ()) -> TargetPrefix:
        """Return the prefix of a text. start: tokens before it.

        Raises InputError for a text that the vocabulary cannot write.
        """
        ids = tokenizer.target.encode(text.strip()) if text.strip() else []
        written, pieces = tokenizer.decode(ids), tokenizer.pieces(ids)
        # an unknown character would come back as another text, and the output would not begin as
        # asked
        if written.split() != text.split():
            raise InputError(
                f"a prefix that the model cannot write: {text.strip()[:60]!r}",
                f"its words and signs, such as {written.strip()[:60]!r}",
            )
        ends = bool(ids) and text[-1:].isspace()
        # bytes of a letter cannot be divided into pieces that a token continues
        if ends or not ids or any(map(tokenizer.target.is_byte, ids)):
            return cls((*start, *ids), ends=ends)
        first = max((n for n, piece in enumerate(pieces) if piece.startswith(SPACE)), default=0)
        return cls((*start, *ids[:first]), "".join(pieces[first:]))


class Alternative(NamedTuple):
    """A word that an output could go on with."""

    word: str
    probability: float


class Continuation(NamedTuple):
    """Tokens behind a prefix, and their log-probabilities."""

    ids: Sequence[int]
    log_probs: Sequence[float]


def words_of(
    outputs: Sequence[Sequence[int]], tokenizer: Tokenizer, count: int, *, starts: bool
) -> list[tuple[int, int]]:
    """Return the number of each of the first outputs that begin with a word, and its tokens.

    outputs: tokens behind the prefix. count: words of the list. starts: True if the prefix is
    empty, where a word needs no space before it. Marks behind a word are no part of it.
    """
    found = []
    for number, ids in enumerate(outputs):
        pieces = tokenizer.pieces(ids)
        later = range(1, len(ids))
        end = next((n for n in later if ids[n] == END or pieces[n].startswith(SPACE)), 0)
        if not end or ids[0] == END or not (starts or pieces[0].startswith(SPACE)):
            continue
        size = max((n + 1 for n in range(end) if any(map(str.isalnum, pieces[n]))), default=0)
        if size and tokenizer.decode(ids[:size]).strip():
            found.append((number, size))
    return found[: count + SPARE]


def alternatives_of(
    found: Sequence[Continuation], tokenizer: Tokenizer, count: int, *, starts: bool
) -> list[Alternative]:
    """Return the words that continuations begin with, the most probable first; see `words_of`."""
    words: dict[str, float] = {}
    for number, size in words_of([one.ids for one in found], tokenizer, count, starts=starts):
        ids, log_probs = found[number]
        text = tokenizer.decode(ids[:size]).strip()
        words[text] = words.get(text, 0.0) + math.exp(sum(log_probs[:size]))
    ranked = sorted(words.items(), key=lambda one: -one[1])
    return [Alternative(*one) for one in ranked[:count]]
