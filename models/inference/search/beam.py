"""Beam search of outputs from a memory. Greedy search is a beam of one.

    score(y) = log p(y) / lp(y),   lp(y) = ((5 + |y|) / 6)^alpha       Wu et al. 2016, eq. 14

|y| includes the end mark. Finished hypotheses of a sentence are collected. With a beam of K, a
sentence is done when it has K finished hypotheses, and no live one would rank among them by ending
at the next step. It then leaves the batch, so that the remaining sentences decode faster.

All sentences advance together in tensors. The host waits for the device once per step, to learn
which sentences are done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.config.tables import SearchConfig
from models.decoders.base import for_beams
from models.inference.search.backend import Backend, HasMask, Step
from models.inference.search.finished import FinishedBatch, Outputs
from models.inference.search.hypotheses import Finished, beam_width, check_search, length_penalty
from models.inference.search.rounded_output import SPARE, exact_best
from models.inference.search.sampling import sample
from models.inference.search.top_tokens import BlockedLogits, TopTokens, top_tokens
from models.numerics.transfer import to_device
from models.text.tokenizer import END, FIRST_OUTPUT, START

UNUSED = -1  # in place of a sentence that is over
UNLIMITED = sys.maxsize


def search(
    backend: Backend, memory: HasMask, limits: list[int], keys: list[str], config: SearchConfig
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

    sentences: list[int]  # (B,) number of the sentence of each group of rows; -1: an unused place
    limits: list[int]  # (B,) maximum output length in tokens, end mark included
    log_probs: Tensor  # (B, K)
    ids: Tensor  # (B, K, t) output so far, start mark first
    state: Any  # decoder state of B * K rows
    prepared: Any  # prepared memory of B sentences
    finished: FinishedBatch  # the best of each sentence

    @property
    def length(self) -> int:
        """Tokens of each hypothesis so far, start mark included."""
        return self.ids.shape[2]

    @property
    def live(self) -> int:
        """Number of sentences that are still being searched."""
        return len(self.sentences) - self.sentences.count(UNUSED)


class Candidates(NamedTuple):
    """Best continuations of each sentence, best first."""

    best: TopTokens  # (B, 2K)
    truncated: Tensor | None  # (B, K): the limit ends a row that preferred another token


def beam_search(
    backend: Backend, memory: HasMask, limits: list[int], width: int, config: SearchConfig
) -> list[list[Finished]]:
    """Search all sentences of a memory at once with a beam of `width`."""
    beams = begin(backend, memory, limits, range(len(limits)), width)
    found = dict(advance(backend, beams, width, config))
    return [found[number] for number in range(len(limits))]


def begin(
    backend: Backend, memory: HasMask, limits: list[int], numbers: Sequence[int], width: int
) -> Beams:
    """Return the beams before the first token. numbers: of the sentences, in the outputs."""
    prepared, state = backend.start(memory)
    if width > 1:
        state = for_beams(state)
    count, device = len(limits), memory.mask.device
    return Beams(
        sentences=list(numbers),
        limits=list(limits),
        log_probs=torch.zeros(count, 1, device=device),
        ids=torch.full((count, 1, 1), START, device=device),
        state=state,
        prepared=prepared,
        finished=FinishedBatch.empty(count, width, device),
    )


def never(beams: Beams) -> bool:
    """Return False: the search continues to its end."""
    return False


def advance(
    backend: Backend,
    beams: Beams,
    width: int,
    config: SearchConfig,
    pause: Callable[[Beams], bool] = never,
) -> list[tuple[int, list[Finished]]]:
    """Search until all sentences are over or `pause` is true; return numbers and outputs."""
    alpha, outputs = config.length_penalty, Outputs(config)
    while beams.sentences and not pause(beams):
        step = backend.step(beams.ids[:, :, -1].flatten(), beams.state, beams.prepared)
        length = beams.ids.shape[2]  # tokens after this step, end mark included
        at_limit = [limit <= length for limit in beams.limits]
        found = candidates(beams.log_probs, step, at_limit, width)
        beams.finished = beams.finished.with_others(ended(beams.ids, found, width, alpha))
        log_probs = found.best.log_probs
        live = found.best._replace(
            log_probs=log_probs.masked_fill(found.best.tokens == END, -torch.inf)
        )
        best_next = live.log_probs.amax(1) / length_penalty(length + 1, alpha)
        done = is_done(beams.finished.scores, best_next).tolist()
        ends = zip(done, at_limit, beams.sentences, strict=True)
        over = [(one or limited) and sentence != UNUSED for one, limited, sentence in ends]
        extend(beams, step.state, live, width, over, outputs)
    return outputs.lists()


def candidates(log_probs: Tensor, step: Step, at_limit: list[bool], width: int) -> Candidates:
    """Return the best 2K continuations of each sentence.

    log_probs (B, K): of the hypotheses. step: of B * K rows; its logits are changed in place. 2K,
    so that K hypotheses remain even if K of the best ones end. A sentence at its length limit can
    only end.
    """
    count, beam = log_probs.shape
    blocked = BlockedLogits.of(step.logits)
    log_total = step.log_total(blocked.peaks).view(count, beam)
    blocked.exclude_first_(FIRST_OUTPUT)
    truncated = None
    if any(at_limit):
        limited = to_device(torch.tensor(at_limit), log_probs.device)
        truncated = (blocked.logits.argmax(1).view(count, beam) != END) & limited[:, None]
        blocked = BlockedLogits.of(only_end(blocked.logits, limited.repeat_interleave(beam)))
    possible = beam * (blocked.logits.shape[1] - FIRST_OUTPUT)
    wanted = min(2 * width, possible)
    if step.exact is None:
        return Candidates(top_tokens(log_probs, log_total, blocked, wanted), truncated)
    best = top_tokens(log_probs, log_total, blocked, min(2 * width + SPARE, possible))
    return Candidates(exact_best(best, log_probs, log_total, step.exact, wanted), truncated)


def only_end(logits: Tensor, limited: Tensor) -> Tensor:
    """Return logits (R, Y) that exclude all tokens but the end mark from the rows in `limited`."""
    others = torch.full_like(logits[0], -torch.inf)
    others[END] = 0
    return torch.where(limited[:, None], logits + others, logits)


def ended(ids: Tensor, found: Candidates, width: int, alpha: float) -> FinishedBatch:
    """Return the hypotheses among the best K that end now; ids (B, K, t) are those before it."""
    log_probs, rows, tokens = (part[:, :width] for part in found.best)
    length = ids.shape[2]
    ends = (tokens == END) & (log_probs > -torch.inf)
    truncated = torch.zeros_like(ends)
    if found.truncated is not None:
        truncated = found.truncated.gather(1, rows)
    scores = (log_probs / length_penalty(length, alpha)).masked_fill(~ends, -torch.inf)
    lengths = ends * length
    before = ids.gather(1, rows[:, :, None].expand(-1, -1, length))
    return FinishedBatch(scores, log_probs, lengths, truncated, before)


def is_done(finished: Tensor, best_next: Tensor) -> Tensor:
    """Return (B,), True if no live hypothesis would rank among K finished ones by ending next.

    finished: scores (B, K), best first, -inf where none. best_next (B,): the highest score that a
    live hypothesis could then have. A beam of one is greedy search: it is done with its first end
    mark.
    """
    worst = finished[:, -1]
    full = worst > -torch.inf
    return full if finished.shape[1] == 1 else full & (worst >= best_next)


def extend(
    beams: Beams, state: Any, live: TopTokens, width: int, over: list[bool], outputs: Outputs
) -> None:
    """Continue the best K live hypotheses; move the sentences that are over to the outputs."""
    count, beam, _ = beams.ids.shape
    beams.log_probs, places = live.log_probs.topk(min(width, live.log_probs.shape[1]))  # (B, K')
    rows, tokens = live.rows.gather(1, places), live.tokens.gather(1, places)
    ids = beams.ids.gather(1, rows[:, :, None].expand(-1, -1, beams.ids.shape[2]))
    beams.ids = torch.cat([ids, tokens[:, :, None]], 2)
    rows = rows + torch.arange(count, device=rows.device)[:, None] * beam
    stay = leave(beams, over, outputs) if any(over) else None
    if stay is not None:
        rows = rows.index_select(0, stay)
    same = width == beam == 1 and stay is None
    beams.state = state if same else state.select(rows.flatten())


def leave(beams: Beams, over: list[bool], outputs: Outputs) -> Tensor | None:
    """Move the sentences that are over to the outputs; return the places that stay, (B',).

    Returns None if all stay. The number of places is one of few, because oneDNN compiles kernels
    for each: a sentence that is over keeps its place, unused, until a smaller number suffices.
    """
    device, gone = beams.ids.device, [n for n, one in enumerate(over) if one]
    outputs.add(
        [beams.sentences[n] for n in gone],
        beams.finished.select(to_device(torch.tensor(gone), device)),
    )
    for n in gone:
        beams.sentences[n], beams.limits[n] = UNUSED, UNLIMITED
    live = [n for n, sentence in enumerate(beams.sentences) if sentence != UNUSED]
    places = batch_size(len(live))
    if places >= len(beams.sentences):
        return None
    unused = (n for n, sentence in enumerate(beams.sentences) if sentence == UNUSED)
    kept = sorted([*live, *islice(unused, places - len(live))])
    stay = to_device(torch.tensor(kept, dtype=torch.long), device)
    beams.sentences = [beams.sentences[n] for n in kept]
    beams.limits = [beams.limits[n] for n in kept]
    beams.log_probs, beams.ids = beams.log_probs[stay], beams.ids[stay]
    beams.prepared, beams.finished = beams.prepared.select(stay), beams.finished.select(stay)
    return stay


def batch_size(sentences: int) -> int:
    """Return the smallest of 0, 1, 2, 3, 4, 6, 8, 12, ... that is not below a number."""
    power = 1 << max(0, sentences - 1).bit_length()
    return min(size for size in (0, power * 3 // 4, power) if size >= sentences)
