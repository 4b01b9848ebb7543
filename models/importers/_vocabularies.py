"""Published vocabularies, in the order of this program.

A bundle's first ids are PAD, UNKNOWN, START and END. The rows of a published model are rearranged,
so that a token has the same vector under its new id:

    ours     PAD  UNKNOWN  START  END  then every other token, in the published order
    theirs   the rows of these; a row that is used twice, or missing, is silent as an output

A silent token has the bias SILENT, so that the softmax is that of the published model. Pieces of a
SentencePiece model that the published vocabulary lacks are unknown tokens to the model: they have
the vector of the unknown token.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from models.core.errors import DamagedError
from models.core.settings import Values
from models.text.vocabulary import NAMES


class Special(NamedTuple):
    """Published rows of the first four tokens; -1: a vector of zeros."""

    pad: int
    unknown: int
    start: int
    end: int


class Vocabulary(NamedTuple):
    """The published rows in the order of this program."""

    pieces: tuple[str, ...]
    rows: tuple[int, ...]  # of each piece; -1: a vector of zeros
    silent: tuple[int, ...]  # our ids that are no output of the published model

    def extended(self, pieces: Iterable[str]) -> Vocabulary:
        """Return the vocabulary with pieces that are unknown to the published model."""
        known = {*self.pieces}
        new = [piece for piece in dict.fromkeys(pieces) if piece not in known]
        start = len(self.pieces)
        return Vocabulary(
            (*self.pieces, *new),
            (*self.rows, *[self.rows[1]] * len(new)),
            (*self.silent, *range(start, start + len(new))),
        )


def arranged(tokens: Sequence[str], special: Special) -> Vocabulary:
    """Return a published vocabulary, given the text of each row, in the order of this program.

    Raises DamagedError for a vocabulary without an end mark.
    """
    if not 0 <= special.end < len(tokens):
        raise DamagedError(f"a vocabulary of {len(tokens)} tokens without an end mark", "one")
    first = [special.pad, special.unknown, special.start, special.end]
    own = {3: special.end}  # ids that answer for their row as outputs
    for number in (1, 0, 2):
        if first[number] >= 0 and first[number] not in own.values():
            own[number] = first[number]
    rest = [row for row in range(len(tokens)) if row not in first]
    pieces = (*NAMES, *(tokens[row] for row in rest))
    if len({*pieces}) < len(pieces):
        twice = next(piece for piece, count in Counter(pieces).items() if count > 1)
        raise DamagedError(f"a vocabulary with the token {twice!r} twice", "different tokens")
    silent = tuple(number for number in range(4) if number not in own)
    return Vocabulary(pieces, (*first, *rest), silent)


def rearranged_json(content: Values, vocabulary: Vocabulary) -> bytes:
    """Return a tokenizer.json with the ids of a vocabulary, and without special tokens in texts."""
    model, old = content["model"], {row: text for text, row in content["model"]["vocab"].items()}
    old |= {token["id"]: token["content"] for token in content.get("added_tokens", ())}
    new = {piece: number for number, piece in enumerate(vocabulary.pieces)}
    for number in range(4):
        text = old.get(vocabulary.rows[number])
        if text is not None and number not in vocabulary.silent:  # the file may name them
            del new[vocabulary.pieces[number]]
            new[text] = number
    added = [
        {**token, "id": new[token["content"]]}
        for token in content.get("added_tokens", ())
        if token["content"] in new
    ]
    changed = {"model": {**model, "vocab": new}, "added_tokens": added, "post_processor": None}
    return json.dumps({**content, **changed}, ensure_ascii=False).encode()


def with_languages(tokens: Sequence[str], languages: Mapping[str, str]) -> list[str]:
    """Return tokens with those of languages under the names that this program gives them.

    languages: code by token, as in {">>fra<<": "fra"}.
    """
    return [f"<2{languages[token]}>" if token in languages else token for token in tokens]
