"""n-best lists of different texts.

A text can be written in several sequences of tokens. Such outputs are merged: the text keeps the
tokens of its most probable sequence, and its probability is the sum over the sequences found.

    log p(text) = log sum over the sequences y of the text of  p(y)

A list that is then too short is searched again with a wider beam. Its first output stays that of
the given beam, so that asking for more outputs never changes the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from models.base.types import Hypothesis
from models.config import SearchConfig
from models.inference.search.hypotheses import check_search, length_penalty

WIDER = (1, 2, 4)  # beams that are tried in turn, in widths of the usual one
WIDEST = 10_000

Search = Callable[[Sequence[int], SearchConfig], list[list[Hypothesis]]]


def different_texts(
    search: Search, count: int, config: SearchConfig, *, depends_on_nbest: bool = False
) -> list[tuple[Hypothesis, ...]]:
    """Return `config.nbest` outputs for each of `count` inputs, no two with the same text.

    A list is shorter only if the widest beam does not find enough texts. Samples are independent of
    each other, and may repeat a text. search: returns the outputs of some inputs, given their
    numbers. depends_on_nbest: True if its first output depends on `config.nbest`.
    """
    check_search(config)
    if config.nbest == 1 or config.method != "beam":
        return [tuple(found) for found in search(range(count), config)]
    known = 1 if depends_on_nbest else config.beam
    first = search(range(count), replace(config, nbest=known))
    lists = [merged(found, config) for found in first]
    usual = max(config.beam, config.nbest)
    for width in (min(factor * usual, WIDEST) for factor in WIDER if factor * usual > known):
        short = [n for n, found in enumerate(lists) if len(found) < config.nbest]
        if not short:
            break
        again = search(short, replace(config, beam=width, nbest=width))
        for n, found in zip(short, again, strict=True):
            lists[n] = merged([first[n][0], *found], config)
    return [tuple(found[: config.nbest]) for found in lists]


def merged(found: Sequence[Hypothesis], config: SearchConfig) -> list[Hypothesis]:
    """Return outputs with equal texts as one each: the first one first, then the best first.

    Texts are equal if they differ in white space alone.
    """
    texts: dict[str, dict[tuple[int, ...], Hypothesis]] = {}
    for one in found:
        texts.setdefault(" ".join(one.text.split()), {}).setdefault(one.ids, one)
    first, *others = (_sum([*same.values()], config) for same in texts.values())
    return [first, *sorted(others, key=lambda one: -one.score)]


def _sum(same: Sequence[Hypothesis], config: SearchConfig) -> Hypothesis:
    """Return the first of some outputs with the sum of their probabilities."""
    if len(same) == 1:
        return same[0]
    most = max(one.log_prob for one in same)
    log_prob = most + math.log(math.fsum(math.exp(one.log_prob - most) for one in same))
    score = log_prob / length_penalty(len(same[0].ids) + 1, config)
    return same[0]._replace(log_prob=log_prob, score=score)
