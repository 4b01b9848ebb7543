"""Sentences of the embedded grammar, labelled with the tense of their main verb."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from attncli.embedded.grammar import held_out, say
from attncli.embedded.grammar.draw import draw


class TenseSplits(NamedTuple):
    """Rows (tense, sentence) for training, and two held-out sets without their sentences."""

    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]


def split_tenses(train: int, count: int, *, seed: int = 1) -> TenseSplits:
    """Return English sentences: present, past, future or modal. count: rows of dev and of test."""
    kept, unseen = held_out(_rows(seed), 2 * count, lambda row: row[1])
    return TenseSplits(list(islice(unseen, train)), kept[:count], kept[count:])


def _rows(seed: int) -> Iterator[tuple[str, str]]:
    random_number = random.Random(seed).random
    while True:
        sentence = draw(random_number)
        yield sentence.clause.tense, " ".join(say(sentence, "en").words)
