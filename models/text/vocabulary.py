"""SentencePiece models, written and changed without the library; vocabularies of one's own.

A bundle's first ids are PAD, UNKNOWN, START and END; a token that is never an output has the bias
SILENT, which its softmax does not notice. A model is a message of protocol buffers, of which few
fields are needed here:
1 pieces (1 text, 2 score, 3 kind); 2 training (3 model type, 40 to 43 ids, 45 to 48 names);
3 normalisation.  https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto

A file of one's own is such a model, or a list with a token on each line, perhaps with a score or a
count behind it, as SentencePiece (`.vocab`), OpenNMT, JoeyNMT and fairseq write them. A list in
which no token has SentencePiece's space mark is one of words.

A new token of a trained model replaces the tokens that spelled it. In a unigram model its score
is above that of its parts, so it is read wherever these were; in a model of pairs or characters
it is a symbol that is never divided.

    score(new) = sum_i score(part_i) + MARGIN per part
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from models.core.errors import DamagedError, InputError, intact

SILENT = -1e4  # bias of a token that is never an output; fits into fp16
# kinds of pieces; one of the user is never divided
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
SPACE = "\u2581"  # space mark
WORDS = 3  # type of a SentencePiece model whose tokens are words
NAMES = ("<pad>", "<unk>", "<start>", "</s>")  # of the first four ids
NO_END = "<no end>"  # name of the end mark of a source vocabulary without one
MAX_PIECES = 2**22
KINDS = {1: "unigram", 2: "bpe", 3: "word", 4: "char"}  # types of a SentencePiece model
SPECIAL = {*NAMES, "<s>", "<pad>", "<blank>", "<eos>", "<bos>", "</s>", "<unk>"}
MARGIN = 0.1  # in nats


def rearranged(
    model: bytes, pieces: Sequence[str], controls: Iterable[str] = (), *, ends: bool = True
) -> bytes:
    """Return a SentencePiece model with these pieces as its ids; they include all of its own.

    Segmentation and normalisation are those of the model; pieces that it lacks are never read.
    controls: pieces that no text contains, such as a language. ends: False if a text has no end.
    """
    own, parts = known_pieces(model), dict(_messages(model))
    kinds = {**{piece: kind for piece, (_, kind) in own.items()}}
    kinds |= dict.fromkeys(controls, CONTROL)
    rows = [(piece, own.get(piece, (0.0, 0))[0], kinds.get(piece, UNUSED)) for piece in pieces[4:]]
    return _message(rows, parts.get(2, b"") + _training(ends), parts.get(3, b""))


def of_words(pieces: Sequence[str], *, ends: bool) -> bytes:
    """Return a SentencePiece model whose tokens are the words of a text, between spaces.

    pieces: without the space mark, which is added.
    """
    rows = [(SPACE + piece, 0.0, NORMAL) for piece in pieces[4:]]
    identity = _field(1, b"identity") + b"".join(_number(n, 1) for n in (3, 4, 5))
    return _message(rows, _number(3, WORDS) + _training(ends), identity)


def of_pieces(pieces: Sequence[tuple[str, float]], controls: Sequence[str], number: int) -> bytes:
    """Return a SentencePiece model of pieces with their scores; other characters become bytes.

    controls: pieces that no text contains. number: type of the model.
    """
    rows = [(control, 0.0, CONTROL) for control in controls]
    rows += [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]
    rows += [(piece, score, NORMAL) for piece, score in pieces]
    training = _number(3, number) + _number(35, 1) + _training(ends=True)
    identity = _field(1, b"identity") + _number(3, 1) + _number(4, 0) + _number(5, 1)
    return _message(rows, training, identity)


def added_pieces(model: bytes, rows: Iterable[tuple[str, float, int]]) -> bytes:
    """Return a SentencePiece model with further pieces: text, score and kind of each.

    Fields behind a message are added to its lists, and replace its single values.
    """
    return model + b"".join(_piece(*row) for row in rows)


def without_prefix(model: bytes) -> bytes:
    """Return a SentencePiece model that reads a text as it is, without a space before it."""
    return model + _field(3, _number(3, 0) + _number(4, 0))


def model_type(model: bytes) -> int:
    """Return the type of a SentencePiece model: 1 unigram, 2 pairs, 3 words, 4 characters."""
    found = 1
    with intact("a SentencePiece model", "a whole file", "", IndexError):
        for number, content in _messages(model):
            inner = _messages(content) if number == 2 else ()
            found = next((value[0] for field, value in inner if field == 3), found)
    return found


def known_pieces(model: bytes) -> dict[str, tuple[float, int]]:
    """Return score and kind of each piece of a SentencePiece model, without its special tokens.

    Raises DamagedError if it is damaged.
    """
    found: dict[str, tuple[float, int]] = {}
    try:
        for number, content in _messages(model):
            if number == 1:
                text, score, kind = "", 0.0, NORMAL
                for inner, value in _messages(content):
                    if inner == 1:
                        text = value.decode()
                    elif inner == 2:
                        (score,) = struct.unpack("<f", value)
                    elif inner == 3:
                        kind = value[0]
                if kind not in (UNKNOWN, CONTROL):
                    found[text] = (score, kind)
    except (IndexError, UnicodeDecodeError, struct.error) as error:
        raise DamagedError(f"a SentencePiece model is damaged ({error})", "a whole file") from None
    if not 0 < len(found) <= MAX_PIECES:
        raise DamagedError("a SentencePiece model without pieces", "a whole file")
    return found


def _message(rows: Sequence[tuple[str, float, int]], training: bytes, normalised: bytes) -> bytes:
    first = zip(NAMES, (0.0,) * 4, (CONTROL, UNKNOWN, CONTROL, CONTROL), strict=True)
    pieces = b"".join(_piece(*row) for row in (*first, *rows))
    return pieces + _field(2, training) + _field(3, normalised)


def _piece(text: str, score: float, kind: int) -> bytes:
    return _field(
        1, _field(1, text.encode()) + b"\x15" + struct.pack("<f", score) + _number(3, kind)
    )


def _training(ends: bool) -> bytes:
    """Return the fields with ids and names of the first four tokens; the last value counts."""
    ids = {40: 1, 41: 2, 42: 3 if ends else -1, 43: 0}
    names = {45: NAMES[1], 46: NAMES[2], 47: NAMES[3] if ends else NO_END, 48: NAMES[0]}
    return b"".join(
        [
            *(_number(n, i) for n, i in ids.items()),
            *(_field(n, t.encode()) for n, t in names.items()),
        ]
    )


def _messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield number and content of the fields of a message."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind, start = key & 7, place
        if kind == 0:
            _, place = _varint(data, place)
        elif kind == 2:
            size, start = _varint(data, place)
            place = start + size
        else:
            place += {1: 8, 5: 4}.get(kind, len(data))
        if place > len(data):
            raise IndexError("it ends early")
        yield key >> 3, data[start:place]


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 127) << shift
        place, shift = place + 1, shift + 7
        if byte < 128 or shift > 63:
            return value, place


def _number(field: int, value: int) -> bytes:
    return _encoded(field << 3) + _encoded(value & (2**64 - 1))


def _field(field: int, content: bytes) -> bytes:
    return _encoded(field << 3 | 2) + _encoded(len(content)) + content


def _encoded(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


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
