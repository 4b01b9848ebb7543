"""Sentences of the embedded grammar, labelled with the tense of their main verb."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from attncli.embedded.grammar import say
from attncli.embedded.grammar.draw import draw


class TenseSplits(NamedTuple):
    """Rows (tense, sentence) for training, and two held-out sets without their sentences."""

    train: list[tuple[str, str]]
    dev: list[tuple[str, str]]
    test: list[tuple[str, str]]


def split_tenses(train: int, held_out: int, *, seed: int = 1) -> TenseSplits:
    """Return English sentences: present, past, future or modal. held_out: rows of dev and test."""
    rows = _rows(seed)
    apart: dict[str, str] = {}
    while len(apart) < 2 * held_out:
        tense, sentence = next(rows)
        apart[sentence] = tense
    kept = [(tense, sentence) for sentence, tense in apart.items()]
    unseen = (row for row in rows if row[1] not in apart)
    return TenseSplits(list(islice(unseen, train)), kept[:held_out], kept[held_out:])


def _rows(seed: int) -> Iterator[tuple[str, str]]:
    random_number = random.Random(seed).random
    while True:
        sentence = draw(random_number)
        yield sentence.clause.tense, " ".join(say(sentence, "en").words)
