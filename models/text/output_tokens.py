"""Tokens of the outputs of a text model, by target language: fewer than its vocabulary.

    "output_tokens": {"de": "f08b..."}     in config.json: a bit for each token, in hexadecimal

A vocabulary that languages share has many tokens that outputs in one of them never need. A search
computes the probabilities of that language's tokens alone, which takes less time and keeps words of
the other languages out. Any text can still be written, because rare words have parts. "" is the
language of a model of one direction; a language without an entry has the whole vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from models.base.errors import DamagedError
from models.text.tokenizer import END

OutputTokens = Mapping[str, str]  # by language: a bit for each token, in hexadecimal


def encoded(ids: Iterable[int], size: int) -> str:
    """Return ids as the bits of a vocabulary of a size, the lowest id first."""
    bits = bytearray(-(-size // 8))
    for token in ids:
        bits[token // 8] |= 128 >> token % 8
    return bits.hex()


def decoded(bits: str, size: int) -> list[int]:
    """Return the ids of `encoded`, in order, with the special ones up to the end mark.

    Raises ValueError for bits that do not fit the vocabulary.
    """
    content = bytes.fromhex(bits)
    if len(content) != -(-size // 8) or int.from_bytes(content, "big") % (1 << -size % 8):
        raise ValueError(f"{len(content)} bytes of bits for {size} tokens")
    return [n for n in range(size) if n <= END or content[n // 8] & 128 >> n % 8]


def output_tokens_of(settings: Mapping[str, Any], folder: object) -> OutputTokens:
    """Return the section of a bundle's settings; raise DamagedError if it is of another form."""
    section = settings.get("output_tokens", {})
    languages = settings["tokenizer"].get("languages", ())
    known = languages or ("",)
    if isinstance(section, dict) and all(
        name in known and isinstance(bits, str) for name, bits in section.items()
    ):
        return section
    raise DamagedError(
        f"{folder} has output_tokens of another form",
        f"bits in hexadecimal by language: {', '.join(languages) or 'an empty name'}",
    )


def allowed(tokens: OutputTokens, language: str, size: int) -> list[int] | None:
    """Return the ids that outputs in a language consist of; None for the whole vocabulary."""
    if language not in tokens:
        return None
    try:
        return decoded(tokens[language], size)
    except ValueError as error:
        raise DamagedError(
            f"the output_tokens of language '{language}' are damaged ({error})",
            "bits in hexadecimal, one for each token",
        ) from None


def count(tokens: OutputTokens, language: str, size: int) -> int:
    """Return the number of tokens that outputs in a language consist of."""
    return int(tokens[language], 16).bit_count() if language in tokens else size
