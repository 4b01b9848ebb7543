"""Tokens that outputs in each language need, counted in the training targets.

Tokens of names and of parts of words are needed in every language, so that names can be copied.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attncli.data.text.mixture import Direction
from models.text.output_tokens import OutputTokens, encoded
from models.text.tokenizer import SPACE, Tokenizer

LEAST_TOKENS = 1_000_000  # of training targets in a language; fewer do not show what it needs
LEAST_SHARE = 1e-6  # of the targets in a language, for each of its tokens
BLOCK = 1 << 22  # ids that are counted at a time


def needed_tokens(directions: Iterable[Direction], tokenizer: Tokenizer) -> OutputTokens:
    """Return the tokens of each target language with enough data."""
    counts: dict[str, np.ndarray] = {}
    size = len(tokenizer.target)
    always = np.array([is_copied(tokenizer, token) for token in range(size)])
    for direction in directions:
        language = direction.name.partition("-")[2]
        found = counts.setdefault(language, np.zeros(size, np.int64))
        ids = direction.target.ids
        for start in range(0, len(ids), BLOCK):
            found += np.bincount(ids[start : start + BLOCK], minlength=size)
    return {
        language: encoded(np.flatnonzero(always | (found >= LEAST_SHARE * found.sum())), size)
        for language, found in sorted(counts.items())
        if found.sum() >= LEAST_TOKENS
    }


def is_copied(tokenizer: Tokenizer, token: int) -> bool:
    """Return True for a token of names or parts of words: none that begins a lower-case word."""
    piece: str = tokenizer.target.id_to_piece(token)
    begins_lower_case = piece.startswith(SPACE) and piece[1:2].islower()
    return not begins_lower_case and not tokenizer.target.is_control(token)
