"""Sentences of the embedded grammar, labelled with the tense of their main verb."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice

from attncli.embedded import Splits
from attncli.embedded.grammar import held_out, say
from attncli.embedded.grammar.draw import draw


def split_tenses(train: int, count: int, *, seed: int = 1) -> Splits:
    """Return rows (tense, English sentence); no held-out sentence is in the training rows.

    A tense is present, past, future or modal. count: rows of dev and of test.
    """
    kept, unseen = held_out(_rows(seed), 2 * count, lambda row: row[1])
    return Splits(list(islice(unseen, train)), kept[:count], kept[count:])


def _rows(seed: int) -> Iterator[tuple[str, str]]:
    random_number = random.Random(seed).random
    while True:
        sentence = draw(random_number)
        yield sentence.clause.tense, " ".join(say(sentence, "en")[0])
