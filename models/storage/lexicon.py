"""The lexicon of a bundle: translations of rare words; see models.text.lexicon. No torch here."""

from __future__ import annotations

from pathlib import Path

from models.core.errors import intact
from models.core.files import read_regular
from models.storage.digests import check_digests
from models.storage.settings import LEXICON
from models.text.lexicon import Lexicon

MAX_BYTES = 1 << 26


def read_lexicon_bytes(folder: Path) -> bytes:
    """Return the packed lexicon of a bundle, b"" if it has none; a DamagedError if it changed."""
    path = folder / LEXICON
    if not path.is_file():
        return b""
    with intact(path, "a file of the model"):
        packed = read_regular(path, MAX_BYTES)
    check_digests(folder, [LEXICON])
    return packed


def read_lexicon(folder: Path) -> Lexicon | None:
    """Return the lexicon of a bundle, None if it has none; a DamagedError if it is damaged."""
    packed = read_lexicon_bytes(folder)
    return Lexicon(packed) if packed else None
