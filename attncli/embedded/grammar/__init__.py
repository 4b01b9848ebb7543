"""The embedded demonstration: a small grammar of English and German.

A meaning is sampled (`draw`), and each language expresses it in its own word order (`english`,
`german`). Each word is tagged with the concepts that it expresses. Words of both languages that
share a concept are the gold links. A sentence has exactly one translation.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple, TypeVar

from attncli.embedded import Splits
from attncli.embedded.grammar import english, german
from attncli.embedded.grammar.draw import draw
from attncli.embedded.grammar.meaning import Sentence, linked, written

T = TypeVar("T")


class Pair(NamedTuple):
    """A sentence, its translation, and the links between their words (separated by spaces)."""

    source: str
    target: str
    links: tuple[tuple[int, int], ...]  # sorted (source word, target word), counted from 0


def generate(count: int, *, seed: int = 1) -> Iterator[Pair]:
    """Return random English-German pairs."""
    return islice(_pairs(seed), count)


def split(train: int, dev: int, test: int, *, seed: int = 1) -> Splits:
    """Return English-German pairs; no held-out source occurs twice or in the training pairs."""
    kept, unseen = held_out(_pairs(seed), dev + test, lambda pair: pair.source)
    return Splits(list(islice(unseen, train)), kept[:dev], kept[dev:])


def split_tenses(train: int, count: int, *, seed: int = 1) -> Splits:
    """Return rows (tense, English sentence); no held-out sentence is in the training rows.

    A tense is present, past, future or modal. count: rows of dev and of test.
    """
    kept, unseen = held_out(_tenses(seed), 2 * count, lambda row: row[1])
    return Splits(list(islice(unseen, train)), kept[:count], kept[count:])


def held_out(
    rows: Iterator[T], count: int, sentence: Callable[[T], str]
) -> tuple[list[T], Iterator[T]]:
    """Return rows with different sentences, and the endless others without these sentences."""
    kept: dict[str, T] = {}
    while len(kept) < count:
        row = next(rows)
        kept[sentence(row)] = row
    return list(kept.values()), (row for row in rows if sentence(row) not in kept)


def _sentences(seed: int) -> Iterator[Sentence]:
    random_number = random.Random(seed).random
    while True:
        yield draw(random_number)


def _tenses(seed: int) -> Iterator[tuple[str, str]]:
    for sentence in _sentences(seed):
        yield sentence.clause.tense, " ".join(written(english.realise(sentence))[0])


def _pairs(seed: int) -> Iterator[Pair]:
    for sentence in _sentences(seed):
        words, concepts = written(english.realise(sentence))
        target_words, target_concepts = written(german.realise(sentence))
        links = linked(concepts, target_concepts)
        yield Pair(" ".join(words), " ".join(target_words), links)
