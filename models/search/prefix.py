"""What steers an output: a text that it begins with, and looks. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from models.core.errors import InputError
from models.core.types import Span
from models.text.tokenizer import SPACE, Tokenizer


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
