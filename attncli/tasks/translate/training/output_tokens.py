"""Tokens that outputs in each language need, counted in the training targets."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from attncli.data.text.mixture import Direction
from models.text.output_tokens import OutputTokens, encoded

LEAST_TOKENS = 1_000_000  # of training targets in a language; fewer do not show what it needs
LEAST_SHARE = 1e-6  # of the targets in a language, for each of its tokens
BLOCK = 1 << 22  # ids that are counted at a time


def needed_tokens(directions: Iterable[Direction], size: int) -> OutputTokens:
    """Return the tokens of each target language with enough data. size: of the vocabulary."""
    counts: dict[str, np.ndarray] = {}
    for direction in directions:
        language = direction.name.partition("-")[2]
        found = counts.setdefault(language, np.zeros(size, np.int64))
        ids = direction.target.ids
        for start in range(0, len(ids), BLOCK):
            found += np.bincount(ids[start : start + BLOCK], minlength=size)
    return {
        language: encoded(np.flatnonzero(found >= LEAST_SHARE * found.sum()).tolist(), size)
        for language, found in sorted(counts.items())
        if found.sum() >= LEAST_TOKENS
    }
