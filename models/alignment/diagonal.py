"""The diagonal baseline of word alignment."""

from __future__ import annotations

from models.base.types import Link


def diagonal(source_words: int, target_words: int) -> set[Link]:
    """Return the links of each target word with the source word at the same relative position.

    A baseline that ignores the words.
    """
    if not source_words:
        return set()
    return {((2 * j + 1) * source_words // (2 * target_words), j) for j in range(target_words)}
