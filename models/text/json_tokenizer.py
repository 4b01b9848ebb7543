"""A tokenizer.json of the `tokenizers` library with the interface of SentencePiece's processor.

Word pieces (Schuster and Nakajima 2012), whose continuations begin with ##, and byte-level pairs
(Radford et al. 2019), whose space is Ġ. Pieces are shown with SentencePiece's space mark.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

from models.core.errors import ConfigurationError, DamagedError

SPACE = "\u2581"
BYTES = [*range(33, 127), *range(161, 173), *range(174, 256)]  # that byte-level pairs show as signs
SIGNS = {chr(byte): byte for byte in BYTES} | {
    chr(256 + n): byte for n, byte in enumerate(b for b in range(256) if b not in BYTES)
}


class JsonProcessor:
    """Texts to ids and back by a tokenizer.json; ids below 4 and <..> pieces are no text."""

    def __init__(self, model: bytes) -> None:
        try:
            library = import_module("tokenizers")
        except ImportError:
            raise ConfigurationError(
                "a tokenizer.json without the package that reads it",
                "the package tokenizers",
                "pip install -e '.[hub]'",
            ) from None
        try:
            self._tokenizer = library.Tokenizer.from_str(model.decode())
            content = json.loads(model)
        except BaseException as error:  # the library also panics, which is no Exception
            if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
                raise
            raise DamagedError(f"a tokenizer.json is damaged ({error})", "a whole file") from None
        self._is_wordpiece = content["model"]["type"] == "WordPiece"
        self._pieces = {number: piece for piece, number in content["model"]["vocab"].items()}
        special = {token["id"] for token in content.get("added_tokens", ()) if token["special"]}
        self._controls = {*range(4), *special} | {
            number for number, piece in self._pieces.items() if piece.startswith("<row ")
        }

    def get_piece_size(self) -> int:
        """Return the number of pieces."""
        return len(self._pieces)

    __len__ = get_piece_size

    def encode(self, text: Any, add_eos: bool = False, num_threads: int = 1) -> Any:
        """Return the ids of a text, or of each of a list of texts."""
        if not isinstance(text, str):
            return [self.encode(each, add_eos) for each in text]
        found = self._tokenizer.encode(text, add_special_tokens=False).ids
        return [*found, *([self.eos_id()] if add_eos else [])]

    def decode(self, ids: list[int]) -> str:
        """Return the text of ids."""
        return str(self._tokenizer.decode([i for i in ids if i not in self._controls]))

    def id_to_piece(self, number: Any) -> Any:
        """Return a piece, or a list of pieces, with the space mark U+2581 before a word."""
        if not isinstance(number, int):
            return [self.id_to_piece(each) for each in number]
        piece = self._pieces[number]
        if number in self._controls:
            return piece
        if self._is_wordpiece:
            return piece.removeprefix("##") if piece.startswith("##") else SPACE + piece
        content = bytes(SIGNS[sign] for sign in piece if sign in SIGNS)
        return content.decode("utf-8", "replace").replace(" ", SPACE)

    def piece_to_id(self, piece: str) -> int:
        """Return the id of a piece as it is stored; that of the unknown token for another one."""
        found = self._tokenizer.token_to_id(piece)
        return 1 if found is None else int(found)

    def is_control(self, number: int) -> bool:
        """Return True for a token that is no text."""
        return number in self._controls

    def is_byte(self, number: int) -> bool:
        """Return False: no piece is one byte of a character that has no piece."""
        return False

    def eos_id(self) -> int:
        """Return the id of the end mark."""
        return 3

    def unk_id(self) -> int:
        """Return the id of the unknown token."""
        return 1
