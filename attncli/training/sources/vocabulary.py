"""The size of a learned vocabulary, and the vocabulary of one side."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from models.config.tables import TokenizerConfig
from models.text.tokenizer import Tokenizer, train

LARGEST, SMALLEST = 32_000, 400  # tokens
MOST_LINES = 300_000  # pairs or texts that a vocabulary is learned from; more are sampled


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Return the number of running words."""
    return sum(len(line.split()) for line in lines)


def learn_side(texts: list[str], config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer learned from the texts of one side, with a size that fits them."""
    size = config.size or size_for(count_words(texts))
    return train(texts, [], size, replace(config, joint=True))
