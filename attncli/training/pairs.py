"""Pairs of sources and targets as training data: sentence pairs, rows of inputs, labelled texts.

They are read from files, tokenised into the folder of a run once, and memory-mapped afterwards.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attncli.data.tokens import Dropped, TokenPairs, read_pairs, write_pairs
from attncli.training.interfaces import Progress
from attncli.training.sources import MOST_LINES, Preparation, prepare_folder, read_made, reading
from models.core.files import write_text
from models.text.tokenizer import Tokenizer

Learn = Callable[[Path, list[str], list[str]], Tokenizer]  # writes it too, from both sides
Finish = Callable[[Path, Tokenizer, np.ndarray], None]  # folder, tokenizer, kept pairs (N,)


class PairTable(NamedTuple):
    """Pairs that can be read again and again, without those of some sources."""

    name: str  # of the files, for messages
    read: Callable[[], Iterable[tuple[str, str]]]
    held: Collection[str] = frozenset()  # sources that are left out, because they are the dev set

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield each source with its target."""
        return (pair for pair in self.read() if pair[0] not in self.held)


def prepare_pairs(
    settings: Preparation,
    table: PairTable,
    folder: Path,
    progress: Progress,
    *,
    learn: Learn,
    finish: Finish = lambda folder, tokenizer, kept: None,
) -> tuple[TokenPairs, Dropped]:
    """Return the memory-mapped pairs and how many are left out; tokenise them the first time.

    learn: returns the tokenizer for at most MOST_LINES sampled pairs. finish: writes what else
    belongs to the pairs that are kept.
    """

    def make(part: Path) -> None:
        progress("reading", 0, 0)
        *sides, total = sampled_lines(table.pairs(), MOST_LINES, settings.seed)
        tokenizer = learn(part, *sides)
        kept: list[np.ndarray] = []
        dropped = write_pairs(
            table.pairs(),
            tokenizer,
            part,
            name=table.name,
            max_length=settings.longest,
            advance=lambda done: progress("tokenising", done, total),
            take_kept=kept.append,
        )
        finish(part, tokenizer, np.concatenate(kept))
        write_text(part / "made.json", json.dumps(dropped._asdict()))

    prepare_folder(folder, make)
    with reading(f"the tokenised pairs in {folder} are"):
        return read_pairs(folder), Dropped(**read_made(folder))


def sampled_lines(
    pairs: Iterable[tuple[str, str]], most: int, seed: int
) -> tuple[list[str], list[str], int]:
    """Return the sides of up to `most` pairs, sampled uniformly, and the number of all pairs.

    Source: Vitter 1985, algorithm R.
    """
    source: list[str] = []
    target: list[str] = []
    rng, total = random.Random(seed), 0
    for total, (text, translation) in enumerate(pairs, 1):
        if total <= most:
            source.append(text)
            target.append(translation)
        elif (place := rng.randrange(total)) < most:
            source[place], target[place] = text, translation
    return source, target, total
