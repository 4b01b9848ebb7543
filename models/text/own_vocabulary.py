"""Vocabularies of one's own, and new tokens for a trained model.

A file is a SentencePiece model, or a list with a token on each line, perhaps with a score or a
count behind it, as SentencePiece (`.vocab`), OpenNMT, JoeyNMT and fairseq write them. A list in
which no token has SentencePiece's space mark is one of words.

A new token of a trained model replaces the tokens that spelled it. In a unigram model its score
is above that of its parts, so it is read wherever these were; in a model of pairs or characters
it is a symbol that is never divided.

    score(new) = sum_i score(part_i) + MARGIN per part
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

from models.core.errors import DamagedError, InputError, intact
from models.text.vocabulary import (
    NAMES,
    NORMAL,
    SPACE,
    USER_DEFINED,
    added_pieces,
    known_pieces,
    model_type,
    of_pieces,
    rearranged,
)

KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # types of a SentencePiece model
SPECIAL = {*NAMES, "<s>", "<pad>", "<blank>", "<eos>", "<bos>", "</s>", "<unk>"}
MARGIN = 0.1  # in nats


def own_kind(path: Path, kind: str) -> str:
    """Return the kind of token of a file. kind: of a list of subwords, which does not say it."""
    content = _content(path)
    if _is_list(content, path):
        return kind if any(SPACE in token for token, _ in _rows(content)) else "word"
    found = KINDS.get(model_type(content))
    if found is None:
        raise DamagedError(f"{path} is a SentencePiece model of an unknown type", "a whole file")
    return found


def own_model(path: Path, kind: str, controls: Sequence[str] = ()) -> bytes:
    """Return the SentencePiece model of a file, whose first ids are those of this program.

    kind: see `own_kind`. controls: tokens that no text contains, such as those of languages.
    """
    content = _content(path)
    if not _is_list(content, path):
        pieces = [piece for piece in known_pieces(content) if piece not in SPECIAL]
        return rearranged(content, (*NAMES, *controls, *pieces), controls)
    rows = _rows(content)
    if not any(SPACE in token for token, _ in rows):
        rows = [(SPACE + token, score) for token, score in rows]
    number = next(n for n, name in KINDS.items() if name == own_kind(path, kind))
    return of_pieces(rows, controls, number)


def own_tokens(path: Path) -> list[str]:
    """Return the tokens of a file; words of a list without the space mark get it."""
    content = _content(path)
    if not _is_list(content, path):
        return [piece for piece, (_, kind) in known_pieces(content).items() if kind == NORMAL]
    tokens = [token for token, _ in _rows(content)]
    if any(SPACE in token for token in tokens):
        return tokens
    return [SPACE + token if token[0].isalnum() else token for token in tokens]


def extended(model: bytes, tokens: Sequence[str], spelled: Sequence[Sequence[str]]) -> bytes:
    """Return a SentencePiece model with further tokens behind its own.

    spelled: the tokens by which the model spells each of them.
    """
    if KINDS.get(model_type(model)) not in ("unigram", "word"):
        return added_pieces(model, [(token, 0.0, USER_DEFINED) for token in tokens])
    scores = {piece: score for piece, (score, _) in known_pieces(model).items()}
    rows = []
    for token, pieces in zip(tokens, spelled, strict=True):
        rows.append((token, sum(scores.get(piece, 0.0) + MARGIN for piece in pieces), NORMAL))
    return added_pieces(model, rows)


def _content(path: Path) -> bytes:
    with intact(path, "a SentencePiece model, or a list of tokens"):
        return path.read_bytes()


def _is_list(content: bytes, path: Path) -> bool:
    """Return True for a text; raise InputError for a file of another kind."""
    if content.startswith(b"{"):
        raise InputError(f"{path} is JSON", "a SentencePiece model, or a list of tokens")
    if b"\0" in content:
        return False
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _rows(content: bytes) -> list[tuple[str, float]]:
    """Return the tokens of a list, each once, with their scores: of the file, or of their rank."""
    found: dict[str, float] = {}
    for line in content.decode("utf-8-sig").splitlines():
        token, score = line.strip(), 1.0
        head, _, last = token.replace("\t", " ").rpartition(" ")
        if head and _is_number(last):
            token, score = head.strip(), float(last)
        if token and token not in SPECIAL:
            found.setdefault(token, score if score <= 0 else -math.log(len(found) + 2))
    if not found:
        raise InputError("a vocabulary without tokens", "a token on each line")
    return [*found.items()]


def _is_number(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False
