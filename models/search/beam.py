"""Beam search of outputs from a memory. Greedy search is a beam of one.

    score(y) = log p(y) / lp(y),   lp(y) = ((5 + |y|) / 6)^alpha       Wu et al. 2016, eq. 14

|y| includes the end mark. Finished hypotheses of a sentence are collected. With a beam of K, a
sentence is done when it has K finished hypotheses, and no live one would rank among them by ending
at the next step. It then leaves the batch, so that the remaining sentences decode faster.

All sentences advance together in tensors. The host waits for the device once per step, to learn
which sentences are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.core.limits import GIVE_TURN
from models.core.types import select, to_device
from models.core.use_config import SearchConfig
from models.search._sampling import sample
from models.search.hypotheses import (
    Backend,
    Finished,
    FinishedBatch,
    Outputs,
    beam_width,
    check_search,
    in_order,
    length_penalty,
)
from models.search.repeats import log_probs_of
from models.text.tokenizer import END, FIRST_OUTPUT, START


def search(
    backend: Backend, memory: Any, limits: list[int], keys: list[str], config: SearchConfig
) -> list[list[Finished]]:
    """Return the best `config.nbest` outputs of each sentence, best first.

    limits: maximum output length per sentence, in tokens, end mark included. keys: one text per
    sentence, which seeds its random numbers, so that samples do not depend on the batch.
    """
    check_search(config)
    if config.method == "sample":
        return sample(backend, memory, limits, keys, config)
    return beam_search(backend, memory, limits, beam_width(config), config)


@dataclass
class Beams:
    """Live hypotheses of the sentences that are still being searched: K rows each."""

    sentences: list[int]  # (B,) number of the sentence of each group of rows
    limits: list[int]  # (B,) maximum output length in tokens, end mark included
    log_probs: Tensor  # (B, K)
    ids: Tensor  # (B, K, t) output so far, start mark first
    state: Any  # decoder state of B * K rows
    prepared: Any  # prepared memory of B sentences
    finished: FinishedBatch  # the best of each sentence


class Candidates(NamedTuple):
    """Best continuations of each sentence, best first."""

    log_probs: Tensor  # (B, k) of the whole hypothesis
    rows: Tensor  # (B, k) which of the sentence's K hypotheses is continued
    tokens: Tensor  # (B, k)


def beam_search(
    backend: Backend, memory: Any, limits: list[int], width: int, config: SearchConfig
) -> list[list[Finished]]:
    """Search all sentences of a memory at once with a beam of `width`."""
    outputs = list[Outputs]()
    beams = begin(backend, memory, limits, width)
    while beams.sentences:
        # a service computes other requests here, and ends the search if its client has gone
        GIVE_TURN.get()()
        step = backend.step(beams.ids[:, :, -1].flatten(), beams.state, beams.prepared)
        length = beams.ids.shape[2]  # tokens after this step, end mark included
        at_limit = [limit <= length for limit in beams.limits]
        log_probs, truncated = possible(
            log_probs_of(step, beams.ids.flatten(0, 1), config), at_limit
        )
        # with K candidates alone, end marks among them would leave fewer than K hypotheses to
        # continue
        found = best(beams.log_probs, log_probs, 2 * width)
        others = ended(beams.ids, found, truncated, width, config)
        beams.finished = beams.finished.with_others(others)
        live = found._replace(
            # an end mark stays a candidate of probability 0, so that all sentences have tensors of
            # one size
            log_probs=found.log_probs.masked_fill(found.tokens == END, -torch.inf)
        )
        # imported models keep "power": their programs compare with the length so far
        ahead = length + (config.length_penalty_form == "wu")  # others stop a step earlier
        best_next = live.log_probs.amax(1) / length_penalty(ahead, config)
        done = is_done(beams.finished.scores, best_next).tolist()
        over = [one or limited for one, limited in zip(done, at_limit, strict=True)]
        extend(beams, step.state, live, width, over, outputs)
    return in_order(outputs, config)


def begin(backend: Backend, memory: Any, limits: list[int], width: int) -> Beams:
    """Return the beams before the first token."""
    prepared, state = backend.start(memory)
    count, device = len(limits), memory.mask.device
    return Beams(
        sentences=list(range(count)),
        limits=list(limits),
        # one row for each sentence: K equal rows would fill the first beam with K copies of one
        # token
        log_probs=torch.zeros(count, 1, device=device),
        ids=torch.full((count, 1, 1), START, device=device),
        state=state,
        prepared=prepared,
        finished=FinishedBatch.empty(count, width, device),
    )


def possible(log_probs: Tensor, at_limit: list[bool]) -> tuple[Tensor, Tensor | None]:
    """Return log-probabilities (B, K, Y) that exclude tokens which cannot follow.

    log_probs: (R, Y), changed in place. A sentence at its length limit can only end. Also return
    (B, K), True where this excludes a hypothesis's preferred token; None if no sentence is at it.
    """
    log_probs[:, :FIRST_OUTPUT].fill_(-torch.inf)  # a list of ids would be copied to the device
    by_sentence = log_probs.view(len(at_limit), -1, log_probs.shape[1])
    if not any(at_limit):
        return by_sentence, None
    limited = to_device(torch.tensor(at_limit), log_probs.device)
    truncated = (by_sentence.argmax(2) != END) & limited[:, None]
    # added, not assigned, so that the output keeps the true probability of its end mark
    others = torch.full_like(by_sentence[0, 0], -torch.inf)
    others[END] = 0
    return torch.where(limited[:, None, None], by_sentence + others, by_sentence), truncated


def best(before: Tensor, log_probs: Tensor, count: int) -> Candidates:
    """Return the best `count` continuations of each sentence, or all if there are fewer.

    before (B, K): log-probabilities of the hypotheses. log_probs (B, K, Y): of the next tokens. A
    beam of K needs 2K, so that K hypotheses remain even if K of the best ones end.
    """
    beam, vocabulary = log_probs.shape[1:]
    sums = (log_probs + before[:, :, None]).flatten(1)  # (B, K * Y)
    # a tiny vocabulary has fewer continuations than 2K, and tokens below FIRST_OUTPUT are never one
    found, places = sums.topk(min(count, beam * (vocabulary - FIRST_OUTPUT)))
    return Candidates(found, places // vocabulary, places % vocabulary)


def ended(
    ids: Tensor, found: Candidates, truncated: Tensor | None, width: int, config: SearchConfig
) -> FinishedBatch:
    """Return the hypotheses among the best K that end now; ids (B, K, t) are those before it.

    truncated (B, K): True for hypotheses that the length limit ends.
    """
    # an end mark outside the best K is no output, or every beam would collect improbable short ones
    log_probs, rows, tokens = (part[:, :width] for part in found)
    length = ids.shape[2]
    ends = (tokens == END) & (log_probs > -torch.inf)
    cut = torch.zeros_like(ends) if truncated is None else truncated.gather(1, rows)
    scores = (log_probs / length_penalty(length, config)).masked_fill(~ends, -torch.inf)
    before = ids.gather(1, rows[:, :, None].expand(-1, -1, length))
    return FinishedBatch(scores, log_probs, ends * length, cut, before)


def is_done(finished: Tensor, best_next: Tensor) -> Tensor:
    """Return (B,), True if no live hypothesis would rank among K finished ones by ending next.

    finished: scores (B, K), best first, -inf where none. best_next (B,): the highest score that a
    live hypothesis could then have. A beam of one is greedy search: it is done with its first end
    mark.
    """
    worst = finished[:, -1]
    full = worst > -torch.inf
    # K finished outputs alone do not suffice: a longer live one can still have a better score,
    # because the length penalty divides a negative number
    return full if finished.shape[1] == 1 else full & (worst >= best_next)


def extend(
    beams: Beams, state: Any, live: Candidates, width: int, over: list[bool], outputs: list[Outputs]
) -> None:
    """Continue the best K live hypotheses; move the sentences that are over to the outputs."""
    count, beam, _ = beams.ids.shape
    beams.log_probs, places = live.log_probs.topk(min(width, live.log_probs.shape[1]))  # (B, K')
    rows, tokens = live.rows.gather(1, places), live.tokens.gather(1, places)
    ids = beams.ids.gather(1, rows[:, :, None].expand(-1, -1, beams.ids.shape[2]))
    beams.ids = torch.cat([ids, tokens[:, :, None]], 2)
    rows = rows + torch.arange(count, device=rows.device)[:, None] * beam
    if any(over):
        rows = rows.index_select(0, leave(beams, over, outputs))
    # greedy search keeps its only row, so the state need not be copied
    same = width == beam == 1 and not any(over)
    beams.state = state if same else select(state, rows.flatten())


def leave(beams: Beams, over: list[bool], outputs: list[Outputs]) -> Tensor:
    """Move the sentences that are over to the outputs; return the places that stay, (B',)."""
    device = beams.ids.device
    gone, kept = ([n for n, one in enumerate(over) if one is which] for which in (True, False))
    finished = select(beams.finished, to_device(torch.tensor(gone), device))
    # the tensors stay on the device until the end, so that a step waits for the device only once
    outputs.append(([beams.sentences[n] for n in gone], finished))
    stay = to_device(torch.tensor(kept, dtype=torch.long), device)
    beams.sentences = [beams.sentences[n] for n in kept]
    beams.limits = [beams.limits[n] for n in kept]
    beams.log_probs, beams.ids = beams.log_probs[stay], beams.ids[stay]
    beams.prepared, beams.finished = select((beams.prepared, beams.finished), stay)
    return stay
