"""Repeated tokens and repeated outputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from models.core.registry import find
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.search.hypotheses import Step, check_search, length_penalty
from models.text.tokenizer import END

if TYPE_CHECKING:
    from torch import Tensor

LONGEST = 20  # units of a repeated phrase, at most
TIMES = 4  # repetitions, at least
UNITS = 6  # units of the whole loop, at least
MIN_EQUAL_UNITS = 4  # units of a loop that another unit equals, at least
WIDER = (1, 2, 4)  # beams that are tried in turn, in widths of the usual one
WIDEST = 10_000

Search = Callable[[Sequence[int], SearchConfig], list[list[Hypothesis]]]


def log_probs_of(step: Step, ids: Tensor, config: SearchConfig) -> Tensor:
    """Return the log-probabilities (R, Y) of the next token after ids (R, t), start mark first.

    The models of an ensemble have no common logits; the penalty applies to their log-probabilities.
    """
    import torch

    before, size = ids[:, 1:], config.no_repeat
    if (not size and config.repetition_penalty == 1) or not before.shape[1]:
        return step.log_probs
    logits: Tensor | None = getattr(step, "logits", None)
    scores = step.log_probs if logits is None else logits
    if config.repetition_penalty != 1:
        # a negative score is multiplied and a positive one divided: both lower the probability
        own, penalty = scores.gather(1, before), config.repetition_penalty
        scores = scores.scatter(1, before, torch.where(own < 0, own * penalty, own / penalty))
    if 0 < size <= before.shape[1]:
        # compared as tensors, because a loop over the outputs on the host would wait for the device
        ngrams = before.unfold(1, size, 1)  # (R, N, n)
        begun = before[:, before.shape[1] - size + 1 :]  # (R, n - 1)
        repeats = (ngrams[..., :-1] == begun[:, None]).all(-1)  # (R, N)
        counts = torch.zeros_like(scores).scatter_add_(1, ngrams[..., -1], repeats.to(scores.dtype))
        # an output may end after any token
        counts[:, END] = 0
        scores = scores.masked_fill(counts > 0, -torch.inf)
    return scores.log_softmax(1)


class Repetition(NamedTuple):
    """A phrase that an output repeats several times in a row."""

    phrase: str
    times: int


def repetition(text: str, *others: str, times: int = TIMES) -> Repetition | None:
    """Return the longest loop of a text, a common fault of neural decoders; None without one.

    repetition("the dog and the dog and the dog and the dog and") == ("the dog and", 4)

    others: the source, and references if they are known. A loop does not count if one of them
    repeats a phrase as often. Units are words, or characters in a text without spaces. times:
    repetitions, at least.
    """
    words = text.split()
    units, join = (words, " ") if len(words) > 1 else (list(text.strip()), "")
    # spares almost every text the search for loops
    if len(units) - len({*units}) < MIN_EQUAL_UNITS:
        return None
    start, period, length = _longest_run(units, times)
    count = length // period if period else 0
    if count < times or length < UNITS:
        return None
    if any((own := repetition(other, times=times)) and own.times >= count - 1 for other in others):
        return None
    return Repetition(join.join(units[start : start + period]), count)


def _longest_run(units: Sequence[str], times: int) -> tuple[int, int, int]:
    """Return start, period and length of the longest run that repeats some times or more."""
    best = (0, 0, 0)
    # a bounded period keeps the search linear in the length of a text
    for period in range(1, min(LONGEST, len(units) // times) + 1):
        run = 0
        for index in range(period, len(units)):
            run = run + 1 if units[index] == units[index - period] else 0
            if run + period > best[2] and (run + period) // period >= times:
                best = (index - run - period + 1, period, run + period)
    return best


def different_texts(
    search: Search, count: int, config: SearchConfig, *, depends_on_nbest: bool = False
) -> list[tuple[Hypothesis, ...]]:
    """Return `config.nbest` outputs for each of `count` inputs, no two with the same text.

    A text can be written in several sequences of tokens. Such outputs are merged: the text keeps
    the tokens of its most probable sequence, and its probability is the sum over the sequences
    found. A list that is then too short is searched again with a wider beam. Its first output stays
    that of the given beam, so that asking for more outputs never changes the first.

    A list is shorter only if the widest beam does not find enough texts. Samples are independent of
    each other, and may repeat a text. search: returns the outputs of some inputs, given their
    numbers. depends_on_nbest: True if its first output depends on `config.nbest`.
    """
    check_search(config)
    if config.rerank:
        ranked = find("rerank", config.rerank)(config).ranked
        lists = search(range(count), replace(config, nbest=config.beam))
        merge = config.method == "beam"
        pools = [merged(found, config) if merge else found for found in lists]
        return [tuple(ranked(pool)[: config.nbest]) for pool in pools]
    if config.nbest == 1 or config.method != "beam":
        return [tuple(found) for found in search(range(count), config)]
    # a search for all of the beam costs nothing more and often fills the list at once
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
            # a wider beam may find a better output, but asking for more outputs must not change the
            # first
            lists[n] = merged([first[n][0], *found], config)
    return [tuple(found[: config.nbest]) for found in lists]


def merged(found: Sequence[Hypothesis], config: SearchConfig) -> list[Hypothesis]:
    """Return outputs with equal texts as one each: the first one first, then the best first.

    Texts are equal if they differ in white space alone.
    """
    texts: dict[str, dict[tuple[int, ...], Hypothesis]] = {}
    for one in found:
        # by ids inside a text, so that a sequence found by two searches is counted once
        texts.setdefault(" ".join(one.text.split()), {}).setdefault(one.ids, one)
    first, *others = (_sum([*same.values()], config) for same in texts.values())
    return [first, *sorted(others, key=lambda one: -one.score)]


def _sum(same: Sequence[Hypothesis], config: SearchConfig) -> Hypothesis:
    """Return the first of some outputs with the sum of their probabilities."""
    if len(same) == 1:
        return same[0]
    most = max(one.log_prob for one in same)
    # relative to the largest one, because exp of a long output's log-probability underflows to 0
    log_prob = most + math.log(math.fsum(math.exp(one.log_prob - most) for one in same))
    score = log_prob / length_penalty(len(same[0].ids) + 1, config)
    return same[0]._replace(log_prob=log_prob, score=score)
