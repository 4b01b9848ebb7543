"""Vocabularies of a run: learned from its texts with a size that fits them, or the initial model's.

The preparation of the texts decides what is read (`attncli.training.sources`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from attncli.terminal import console
from attncli.terminal.messages import counted
from attncli.training.interfaces import Progress
from attncli.training.sources import Preparation
from models.core.files import write_bytes
from models.core.limits import interruptible
from models.core.use_config import TokenizerConfig
from models.text.tokenizer import Tokenizer, read_tokenizer, train, with_new_tokens

LARGEST, SMALLEST = 32_000, 400  # tokens


def size_for(words: int) -> int:
    """Return a vocabulary size: 10 times the square root of the running words, in hundreds.

    Examples: 8,600 for the 30,000 pairs of Multi30k; 32,000 from about ten million words on.
    """
    size = round(10 * math.sqrt(words) / 100) * 100
    return max(SMALLEST, min(LARGEST, size))


def count_words(lines: Iterable[str]) -> int:
    """Return the number of running words."""
    return sum(len(line.split()) for line in lines)


def learn_tokenizer(
    source: list[str], target: list[str], size: int, config: TokenizerConfig
) -> Tokenizer:
    """Return a tokenizer learned from texts; say which characters it encodes as bytes."""
    tokenizer = train(source, target, size, config)
    if rare := len(tokenizer.rare):
        what = "set tokenizer.size to have more of them" if config.size else "they occur once"
        console.say(f"vocabulary: {counted(rare, 'rare character')} encoded as bytes; {what}")
    return tokenizer


def learn_side(texts: list[str], config: TokenizerConfig) -> Tokenizer:
    """Return a tokenizer learned from the texts of one side, with a size that fits them."""
    size = config.size or size_for(count_words(texts))
    return learn_tokenizer(texts, [], size, replace(config, joint=True))


def write_vocabulary(
    folder: Path, settings: Preparation, learn: Callable[[], Tokenizer], progress: Progress
) -> Tokenizer:
    """Write the tokenizer of the initial model, or a newly learned one, to a folder; return it.

    Ctrl-C can interrupt the learning.
    """
    if settings.start_from:
        own = read_tokenizer(Path(settings.start_from))
        tokenizer = with_new_tokens(own, settings.tokenizer.model)
    else:
        progress("learning the vocabulary", 0, 0)
        tokenizer = interruptible(learn)
    for name, content in tokenizer.files().items():
        write_bytes(folder / name, content)
    return tokenizer
