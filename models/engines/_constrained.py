"""Beam search whose outputs contain given phrases: dynamic beam allocation.

Each hypothesis counts the tokens of the phrases that it has. At each step the beam is divided
between hypotheses with different counts, and the next token of a missing phrase is always among
the candidates; so the best of the highest count advances at every step. Only a hypothesis with all
phrases may end. Source: Post and Vilar 2018, with the phrases of Hokamp and Liu 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.core.limits import GIVE_TURN
from models.core.types import select
from models.core.use_config import SearchConfig
from models.search.hypotheses import Backend, Finished, beam_width, length_penalty
from models.search.repeats import log_probs_of
from models.text.tokenizer import END, FIRST_OUTPUT, START

RequiredPhrase = tuple[int, ...]  # token ids


class ConstraintProgress(NamedTuple):
    """Phrases that a hypothesis contains, and the part of the one that has begun."""

    complete: frozenset[int] = frozenset()  # numbers of the contained phrases
    current: int = -1  # the phrase that has begun; -1: none
    tokens: int = 0  # number of tokens of the current phrase

    def count(self, phrases: Sequence[RequiredPhrase]) -> int:
        """Return the number of phrase tokens that the hypothesis contains."""
        return sum(len(phrases[number]) for number in self.complete) + self.tokens

    def wanted(self, phrases: Sequence[RequiredPhrase]) -> set[int]:
        """Return the tokens that begin a missing phrase, or continue the current one."""
        # the next token of a phrase is offered at every step, or an improbable term would never
        # enter the beam
        missing = {phrase[0] for n, phrase in enumerate(phrases) if n not in self.complete}
        return missing | ({phrases[self.current][self.tokens]} if self.current >= 0 else set())

    def after(self, token: int, phrases: Sequence[RequiredPhrase]) -> ConstraintProgress:
        """Return the progress after one more token; a phrase that is not continued is lost."""
        current, tokens = self.current, self.tokens
        if current < 0 or phrases[current][tokens] != token:
            begun = (
                n
                for n, phrase in enumerate(phrases)
                if n not in self.complete and phrase[0] == token
            )
            current, tokens = next(begun, -1), 0
        if current < 0:
            return ConstraintProgress(self.complete)
        if tokens + 1 == len(phrases[current]):
            return ConstraintProgress(self.complete | {current})
        return ConstraintProgress(self.complete, current, tokens + 1)


class Partial(NamedTuple):
    """A live hypothesis."""

    ids: tuple[int, ...]  # start mark first
    log_prob: float
    row: int  # of the decoder state that it continues
    progress: ConstraintProgress
    completes: bool = False  # its last token is the last one of a phrase


def contains(ids: Sequence[int], phrase: RequiredPhrase) -> bool:
    """Return True if the tokens of a phrase are in an output, one after another."""
    size = len(phrase)
    return any(tuple(ids[at : at + size]) == phrase for at in range(len(ids) - size + 1))


def with_phrases(
    outputs: Sequence[list[Finished]],
    phrases: Sequence[Sequence[RequiredPhrase]],
    search_again: Callable[[int], list[Finished]],
) -> list[list[Finished]]:
    """Return the outputs of sentences, searched again where one does not contain its phrases.

    Phrases lower the probability of an output, but not the confidence in it: it has that of the
    output without them.

    search_again: return the outputs of a sentence, given its number, that contain its phrases.
    """
    return [
        found
        if all(contains(one.ids, phrase) for one in found for phrase in wanted)
        # the confidence is that of the free output, because a forced term is improbable by nature
        else [one._replace(free=found[0].mean) for one in search_again(number)]
        for number, (found, wanted) in enumerate(zip(outputs, phrases, strict=True))
    ]


def constrained_search(
    backend: Backend,
    memory: Any,
    limit: int,
    phrases: Sequence[RequiredPhrase],
    config: SearchConfig,
    inside: Sequence[int] = (),
) -> list[Finished]:
    """Return the best `config.nbest` outputs of one sentence that contain all phrases.

    memory: of the sentence alone. limit: maximum output length in tokens, end mark included, to
    which the tokens of the phrases are added. inside: tokens that continue a word; a phrase that
    is complete is not followed by them.
    """
    width, device = beam_width(config), memory.mask.device
    # an output with all phrases may be longer than the limit of a free one
    limit += sum(map(len, phrases))
    prepared, state = backend.start(memory)
    live, finished = [Partial((START,), 0.0, 0, ConstraintProgress())], list[Finished]()
    for length in range(1, limit + 1):  # tokens after this step, end mark included
        last = torch.tensor([one.ids[-1] for one in live], device=device)
        # a glossary of thousands of repeated words held a service for a minute
        GIVE_TURN.get()()
        step = backend.step(last, state, prepared)
        ids = torch.tensor([one.ids for one in live], device=device)
        log_probs = log_probs_of(step, ids, config)
        log_probs[:, :FIRST_OUTPUT].fill_(-torch.inf)
        # a letter behind a complete term would make another word of it
        for row in (row for row, one in enumerate(live) if one.completes):
            log_probs[row, list(inside)] = -torch.inf
        finished += _ended(live, log_probs, phrases, config, truncated=length == limit)
        finished = sorted(finished, key=lambda one: -one.score)[:width]
        live = _allocated(_continued(live, log_probs, phrases, width), phrases, width)
        best = max(one.log_prob for one in live) / length_penalty(length + 1, config)
        if len(finished) == width and finished[-1].score >= best:
            break
        state = select(step.state, torch.tensor([one.row for one in live], device=device))
    return finished[: config.nbest]


def _ended(
    live: Sequence[Partial],
    log_probs: Tensor,
    phrases: Sequence[RequiredPhrase],
    config: SearchConfig,
    *,
    truncated: bool,
) -> Iterator[Finished]:
    """Yield the hypotheses with all phrases that may end now.

    The end mark is among the best K tokens, or the length limit is reached (truncated).
    """
    width = beam_width(config)
    for row, one in enumerate(live):
        if len(one.progress.complete) < len(phrases):
            continue
        # only where the model itself would end, so that phrases are not followed by a sudden end
        rank = int((log_probs[row] > log_probs[row, END]).sum())
        if rank < width or truncated:
            log_prob = one.log_prob + float(log_probs[row, END])
            yield Finished.scored(one.ids[1:], log_prob, config, truncated and rank > 0)


def _continued(
    live: Sequence[Partial], log_probs: Tensor, phrases: Sequence[RequiredPhrase], width: int
) -> Iterator[Partial]:
    """Yield the best continuations of each hypothesis, and those by a token of a phrase."""
    # one more than the beam, because an end mark among them is left out
    most = min(width + 1, log_probs.shape[1] - FIRST_OUTPUT)
    for row, (one, best) in enumerate(
        zip(live, log_probs.topk(most).indices.tolist(), strict=True)
    ):
        for token in sorted({*best, *one.progress.wanted(phrases)} - {END}):
            log_prob = one.log_prob + float(log_probs[row, token])
            after = one.progress.after(token, phrases)
            completes = len(after.complete) > len(one.progress.complete)
            if log_prob > -torch.inf:
                yield Partial((*one.ids, token), log_prob, row, after, completes)


def _allocated(
    candidates: Iterable[Partial], phrases: Sequence[RequiredPhrase], width: int
) -> list[Partial]:
    """Return the hypotheses of the next step: each count of phrase tokens has an equal share.

    The rest of the beam is filled by probability.
    """
    ranked = sorted(candidates, key=lambda one: -one.log_prob)
    banks: dict[int, list[Partial]] = {}
    for one in ranked:
        banks.setdefault(one.progress.count(phrases), []).append(one)
    # each count keeps a share, or hypotheses without phrases, which are more probable, would fill
    # the beam
    share = max(1, width // len(banks))
    # the highest count first: it survives a beam that is narrower than the number of counts
    chosen = [one for count in sorted(banks, reverse=True) for one in banks[count][:share]][:width]
    taken = {one.ids for one in chosen}
    others = (one for one in ranked if one.ids not in taken)
    return [*chosen, *islice(others, width - len(chosen))]
