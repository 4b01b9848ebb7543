"""Beam search and sampling of outputs from a memory. Greedy search is a beam of one.

    score(y) = log p(y) / lp(y),   lp(y) = ((5 + |y|) / 6)^alpha       Wu et al. 2016, eq. 14

|y| includes the end mark. Finished hypotheses of a sentence are collected. With a beam of K, a
sentence is done when it has K finished hypotheses, and no live one would rank among them by ending
at the next step. It then leaves the batch, so that the remaining sentences decode faster.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.config import SearchConfig
from models.inference.backend import Backend, HasMask
from models.inference.hypotheses import Finished, beam_width, check_search, length_penalty
from models.tokenizer import END, NEVER_OUTPUT, START


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

    sentences: list[int]  # (B,) index in the batch of each group of rows
    log_probs: Tensor  # (B, K)
    ids: Tensor  # (B, K, t) output so far, start mark first
    state: Any  # decoder state of B * K rows
    prepared: Any  # prepared memory of B sentences
    finished: dict[int, list[Finished]] = field(default_factory=dict)


class Candidates(NamedTuple):
    """Best continuations of each sentence, best first."""

    log_probs: Tensor  # (B, 2K) of the whole hypothesis
    rows: Tensor  # (B, 2K) which of the sentence's K hypotheses is continued
    tokens: Tensor  # (B, 2K)
    truncated: Tensor | None  # (B, K): the limit ends a row that preferred another token


def beam_search(
    backend: Backend, memory: HasMask, limits: list[int], width: int, config: SearchConfig
) -> list[list[Finished]]:
    """Search all sentences of a memory at once with a beam of `width`."""
    prepared, state = backend.start(memory)
    count, device = len(limits), memory.mask.device
    beams = Beams(
        sentences=list(range(count)),
        log_probs=torch.zeros(count, 1, device=device),
        ids=torch.full((count, 1, 1), START, device=device),
        state=state,
        prepared=prepared,
        finished={sentence: [] for sentence in range(count)},
    )
    while beams.sentences:
        step = backend.step(beams.ids[:, :, -1].flatten(), beams.state, beams.prepared)
        length = beams.ids.shape[2]  # tokens after this step, end mark included
        at_limit = [limits[sentence] <= length for sentence in beams.sentences]
        best = candidates(beams.log_probs, step.log_probs, at_limit, width)
        collect_finished(beams, best, width, config.length_penalty)
        live = best.log_probs.masked_fill(best.tokens == END, -torch.inf)  # (B, 2K)
        next_penalty = length_penalty(length + 1, config.length_penalty)
        best_next = (live.amax(1) / next_penalty).tolist()
        kept = [
            index
            for index, sentence in enumerate(beams.sentences)
            if not at_limit[index]
            and not is_done(beams.finished[sentence], best_next[index], width)
        ]
        extend(beams, step.state, best._replace(log_probs=live), kept, width)
    return [finished[: config.nbest] for finished in beams.finished.values()]


def candidates(log_probs: Tensor, step: Tensor, at_limit: list[bool], width: int) -> Candidates:
    """Return the best 2K continuations of each sentence.

    log_probs (B, K): of the hypotheses. step (B * K, Y): of the next token; changed in place.
    2K, so that K hypotheses remain even if K of the best ones end. A sentence at its length limit
    can only end.
    """
    count, beam = log_probs.shape
    step[:, list(NEVER_OUTPUT)] = -torch.inf
    step = step.view(count, beam, -1)  # (B, K, Y)
    truncated = None
    if any(at_limit):
        limited = torch.tensor(at_limit, device=step.device)
        truncated = (step.argmax(-1) != END) & limited[:, None]
        only_end = torch.full_like(step[0, 0], -torch.inf)
        only_end[END] = 0
        step = torch.where(limited[:, None, None], step + only_end, step)
    best, tokens = step.topk(min(2 * width, step.shape[2] - len(NEVER_OUTPUT)))  # (B, K, 2K)
    total = (log_probs[:, :, None] + best).flatten(1)
    scores, places = total.topk(min(2 * width, total.shape[1]))
    rows = places // best.shape[2]
    return Candidates(scores, rows, tokens.flatten(1).gather(1, places), truncated)


def collect_finished(beams: Beams, best: Candidates, width: int, alpha: float) -> None:
    """Add the hypotheses among the best K that end now; keep the best K finished ones."""
    ends = (best.tokens[:, :width] == END) & (best.log_probs[:, :width] > -torch.inf)
    for index, rank in ends.nonzero().tolist():
        finished, row = beams.finished[beams.sentences[index]], best.rows[index, rank]
        ids = beams.ids[index, row, 1:].tolist()
        log_prob = float(best.log_probs[index, rank])
        score = log_prob / length_penalty(len(ids) + 1, alpha)
        truncated = best.truncated is not None and bool(best.truncated[index, row])
        finished.append(Finished(tuple(ids), log_prob, score, truncated))
        finished.sort(key=lambda hypothesis: -hypothesis.score)
        del finished[width:]


def is_done(finished: list[Finished], best_next: float, width: int) -> bool:
    """Return True if no live hypothesis would rank among K finished ones by ending next.

    best_next: the highest score that a live hypothesis could then have. A beam of one is greedy
    search: it is done with its first end mark.
    """
    return len(finished) == width and (width == 1 or finished[-1].score >= best_next)


def extend(beams: Beams, state: Any, live: Candidates, kept: list[int], width: int) -> None:
    """Continue the best K live hypotheses of the sentences to keep, and drop the others."""
    device, beam = live.log_probs.device, beams.log_probs.shape[1]
    chosen = torch.tensor(kept, device=device, dtype=torch.long)
    log_probs, rows, tokens = (part.index_select(0, chosen) for part in live[:3])
    log_probs, places = log_probs.topk(min(width, log_probs.shape[1]))  # (B', K)
    rows, tokens = rows.gather(1, places), tokens.gather(1, places)
    ids = beams.ids.index_select(0, chosen)
    ids = ids.gather(1, rows[:, :, None].expand(-1, -1, ids.shape[2]))
    beams.ids = torch.cat([ids, tokens[:, :, None]], 2)
    beams.log_probs = log_probs
    beams.state = state.select((rows + chosen[:, None] * beam).flatten())
    if len(kept) < len(beams.sentences):
        beams.prepared = beams.prepared.select(chosen)
        beams.sentences = [beams.sentences[index] for index in kept]


@dataclass
class Sample:
    """Output that is being sampled."""

    rng: random.Random
    ids: list[int] = field(default_factory=list)
    log_prob: float = 0.0
    ended: bool = False
    truncated: bool = False

    def append(self, token: int, log_prob: float, truncated: bool) -> None:
        """Add a token, or end; do nothing after the end."""
        if self.ended:
            return
        self.log_prob += log_prob
        self.ended = token == END
        if self.ended:
            self.truncated = truncated
        else:
            self.ids.append(token)

    def finished(self, config: SearchConfig) -> Finished:
        """Return the finished hypothesis."""
        penalty = length_penalty(len(self.ids) + 1, config.length_penalty)
        return Finished(tuple(self.ids), self.log_prob, self.log_prob / penalty, self.truncated)


def sample(
    backend: Backend, memory: HasMask, limits: list[int], keys: list[str], config: SearchConfig
) -> list[list[Finished]]:
    """Sample `config.nbest` independent outputs per sentence; return the most probable first.

    A sentence whose outputs have all ended leaves the batch, so that the others decode faster.
    """
    copies, device = config.nbest, memory.mask.device
    samples = [[Sample(random_numbers(key, n, config.seed)) for n in range(copies)] for key in keys]
    live = torch.arange(len(limits), device=device)  # sentences; each has `copies` rows of state
    prepared, state = backend.start(memory)
    state = state.select(live.repeat_interleave(copies))
    tokens = torch.full((len(live) * copies,), START, device=device)
    length = 0
    while len(live):
        step = backend.step(tokens, state, prepared)
        length += 1  # tokens after this step, end mark included
        rows = [one for sentence in live.tolist() for one in samples[sentence]]
        uniform = torch.tensor([one.rng.random() for one in rows], device=device)
        at_limit = torch.tensor([length >= limits[s] for s in live.tolist()], device=device)
        at_limit = at_limit.repeat_interleave(copies)
        all_log_probs = step.log_probs
        wanted = sample_tokens(all_log_probs, uniform, config)
        tokens = wanted.masked_fill(at_limit, END)
        log_probs = all_log_probs.gather(1, tokens[:, None])[:, 0]
        lists = tokens.tolist(), log_probs.tolist(), (wanted != tokens).tolist()
        for one, *token in zip(rows, *lists, strict=True):
            one.append(*token)
        state = step.state
        ended = torch.tensor([one.ended for one in rows], device=device)
        going = ~ended.view(-1, copies).all(1)
        if not going.all():
            kept = going.repeat_interleave(copies).nonzero()[:, 0]
            state, tokens = state.select(kept), tokens[kept]
            prepared, live = prepared.select(going.nonzero()[:, 0]), live[going]
    finished = ([one.finished(config) for one in of_sentence] for of_sentence in samples)
    return [sorted(of_sentence, key=lambda one: -one.score) for of_sentence in finished]


def random_numbers(key: str, copy: int, seed: int) -> random.Random:
    """Return the generator of one output, which depends on its key, number and the seed alone."""
    return random.Random(zlib.crc32(f"{seed} {copy} {key}".encode("utf-8", "replace")))


def sample_tokens(log_probs: Tensor, uniform: Tensor, config: SearchConfig) -> Tensor:
    """Sample one token per row (R,) by inverting the distribution at uniform numbers (R,).

    Tokens are ordered by id. Ordered by probability, near ties would change places with the
    rounding of a batch, and the output with them.
    """
    logits = log_probs / max(config.temperature, 1e-6)
    logits[:, list(NEVER_OUTPUT)] = -torch.inf
    cumulative = most_probable(logits.softmax(-1), config).cumsum(-1)  # (R, Y)
    total = cumulative[:, -1:].contiguous()
    places = torch.searchsorted(cumulative, uniform[:, None] * total, right=True)
    last = torch.searchsorted(cumulative, total)  # rounding must not lead past it
    return torch.minimum(places, last)[:, 0]


def most_probable(probabilities: Tensor, config: SearchConfig) -> Tensor:
    """Return probabilities (R, Y) with 0 for every token outside top-k and top-p."""
    if config.top_k <= 0 and config.top_p >= 1:
        return probabilities
    ranked, tokens = probabilities.sort(-1, descending=True)
    if config.top_k > 0:
        ranked[:, config.top_k :] = 0
    if config.top_k > 0 and config.top_p < 1:
        ranked /= ranked.sum(-1, keepdim=True)  # top-p is a share of what top-k leaves
    before = ranked.cumsum(-1) - ranked
    ranked[before >= max(config.top_p, 1e-9)] = 0  # the most probable token always stays
    return torch.zeros_like(probabilities).scatter(-1, tokens, ranked)
