"""Search: from a memory to outputs, by beam or by sampling. Greedy search is a beam of one.

    score(y) = log p(y) / lp(y),   lp(y) = ((5 + |y|) / 6)^alpha       Wu et al. 2016, eq. 14

|y| counts the end mark. Finished hypotheses of a sentence are set aside; when it has as many as
the beam is wide, and none of the live ones would be among them if it ended next, the sentence
leaves the batch, so that the rest goes on faster.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor

from models.config import SearchConfig
from models.errors import ConfigurationError
from models.model import EncoderDecoder
from models.settings import check_limits
from models.tokenizer import END, NEVER_OUTPUT, START
from models.types import Memory


class Finished(NamedTuple):
    """One finished output."""

    ids: tuple[int, ...]  # end mark left out
    log_prob: float  # end mark included
    score: float


def search(
    model: EncoderDecoder, memory: Memory, limits: list[int], keys: list[str], config: SearchConfig
) -> list[list[Finished]]:
    """The best `config.nbest` outputs of each sentence, best first.

    limits: the longest output in pieces, end mark included, per sentence. keys: a text per
    sentence from which its random numbers are seeded, so that samples do not depend on the batch.
    """
    check_limits(config, where="search")
    greedy = config.method == "greedy"
    if greedy and config.nbest > 1:
        raise ConfigurationError(
            f"search.nbest = {config.nbest} with greedy search", "1", "use beam search or sampling"
        )
    if config.method == "sample":
        return sample(model, memory, limits, keys, config)
    width = 1 if greedy else max(config.beam, config.nbest)
    return beam_search(model, memory, limits, width, config)


def length_penalty(length: int, alpha: float) -> float:
    """lp of an output of `length` pieces. Wu et al. 2016, eq. 14."""
    return float(((5 + length) / 6) ** alpha)


@dataclass
class Beams:
    """The live hypotheses of the sentences still being searched: K rows each."""

    sentences: list[int]  # (B,) which sentence of the batch each group of rows is
    log_probs: Tensor  # (B, K)
    ids: Tensor  # (B, K, t) what has been said, start mark first
    state: Any  # decoder state of B * K rows
    prepared: Any  # decoder memory of B sentences
    found: dict[int, list[Finished]] = field(default_factory=dict)


def beam_search(
    model: EncoderDecoder, memory: Memory, limits: list[int], width: int, config: SearchConfig
) -> list[list[Finished]]:
    """Beam search of all sentences of a memory at once."""
    prepared, state = model.start(memory)
    count, device = len(limits), memory.mask.device
    beams = Beams(
        sentences=list(range(count)),
        log_probs=torch.zeros(count, 1, device=device),
        ids=torch.full((count, 1, 1), START, device=device),
        state=state,
        prepared=prepared,
        found={sentence: [] for sentence in range(count)},
    )
    while beams.sentences:
        step = model.step(beams.ids[:, :, -1].flatten(), beams.state, beams.prepared)
        length = beams.ids.shape[2]  # pieces after this step, end mark included
        at_limit = torch.tensor([limits[s] <= length for s in beams.sentences], device=device)
        scores, rows, tokens = candidates(beams.log_probs, step.log_probs, at_limit, width)
        set_aside(beams, scores, rows, tokens, width, config.length_penalty)
        live = scores.masked_fill(tokens == END, -torch.inf)  # (B, 2K)
        next_penalty = length_penalty(length + 1, config.length_penalty)
        best_next = (live.amax(1) / next_penalty).tolist()
        keep = [
            index
            for index, sentence in enumerate(beams.sentences)
            if limits[sentence] > length
            and not settled(beams.found[sentence], best_next[index], width)
        ]
        go_on(beams, step.state, live, rows, tokens, keep, width)
    return [found[: config.nbest] for found in beams.found.values()]


def candidates(
    log_probs: Tensor, step: Tensor, at_limit: Tensor, width: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The best 2K continuations of each sentence: log-probability, row and token, each (B, 2K).

    Twice the width, so that K can go on even if K of them end. At its length limit a sentence may
    only end.
    """
    count, beam = log_probs.shape
    step[:, list(NEVER_OUTPUT)] = -torch.inf
    step = step.view(count, beam, -1)  # (B, K, Y)
    if bool(at_limit.any()):
        only_end = torch.full_like(step[0, 0], -torch.inf)
        only_end[END] = 0
        step = torch.where(at_limit[:, None, None], step + only_end, step)
    best, tokens = step.topk(min(2 * width, step.shape[2] - len(NEVER_OUTPUT)))  # (B, K, 2K)
    total = (log_probs[:, :, None] + best).flatten(1)
    scores, places = total.topk(min(2 * width, total.shape[1]))
    return scores, places // best.shape[2], tokens.flatten(1).gather(1, places)


def set_aside(
    beams: Beams, scores: Tensor, rows: Tensor, tokens: Tensor, width: int, alpha: float
) -> None:
    """Move the hypotheses that end now, among the best K, to the best K finished ones."""
    ends = (tokens[:, :width] == END) & (scores[:, :width] > -torch.inf)
    for index, rank in ends.nonzero().tolist():
        found = beams.found[beams.sentences[index]]
        ids = beams.ids[index, rows[index, rank], 1:].tolist()
        log_prob = float(scores[index, rank])
        score = log_prob / length_penalty(len(ids) + 1, alpha)
        found.append(Finished(tuple(ids), log_prob, score))
        found.sort(key=lambda hypothesis: -hypothesis.score)
        del found[width:]


def settled(found: list[Finished], best_next: float, width: int) -> bool:
    """Whether the best live hypothesis would not be among K finished ones if it ended next.

    A beam of one is greedy search: its first end is the end.
    """
    return len(found) == width and (width == 1 or found[-1].score >= best_next)


def go_on(
    beams: Beams,
    state: Any,
    live: Tensor,
    rows: Tensor,
    tokens: Tensor,
    keep: list[int],
    width: int,
) -> None:
    """Continue the best K live hypotheses of the sentences to keep."""
    device, beam = live.device, beams.log_probs.shape[1]
    kept = torch.tensor(keep, device=device, dtype=torch.long)
    live, rows, tokens = (part.index_select(0, kept) for part in (live, rows, tokens))
    log_probs, places = live.topk(min(width, live.shape[1]))  # (B', K)
    rows, tokens = rows.gather(1, places), tokens.gather(1, places)
    said = beams.ids.index_select(0, kept)
    said = said.gather(1, rows[:, :, None].expand(-1, -1, said.shape[2]))
    beams.ids = torch.cat([said, tokens[:, :, None]], 2)
    beams.log_probs = log_probs
    beams.state = state.select((rows + kept[:, None] * beam).flatten())
    if len(keep) < len(beams.sentences):
        beams.prepared = beams.prepared.select(kept)
        beams.sentences = [beams.sentences[index] for index in keep]


@dataclass
class Draft:
    """An output being sampled."""

    dice: random.Random
    ids: list[int] = field(default_factory=list)
    log_prob: float = 0.0
    ended: bool = False

    def say(self, token: int, log_prob: float) -> None:
        """Go on by one token, or end; what has ended stays as it is."""
        if self.ended:
            return
        self.log_prob += log_prob
        self.ended = token == END
        if not self.ended:
            self.ids.append(token)

    def found(self, config: SearchConfig) -> Finished:
        """The finished output."""
        penalty = length_penalty(len(self.ids) + 1, config.length_penalty)
        return Finished(tuple(self.ids), self.log_prob, self.log_prob / penalty)


def sample(
    model: EncoderDecoder, memory: Memory, limits: list[int], keys: list[str], config: SearchConfig
) -> list[list[Finished]]:
    """Ancestral sampling: `config.nbest` independent outputs a sentence, likeliest first.

    A sentence whose outputs have all ended leaves the batch, so that the rest goes on faster.
    """
    copies, device = config.nbest, memory.mask.device
    drafts = [[Draft(dice(key, copy, config.seed)) for copy in range(copies)] for key in keys]
    live = torch.arange(len(limits), device=device)  # sentences; a row of the state for every draft
    prepared, state = model.start(memory)
    state = state.select(live.repeat_interleave(copies))
    tokens = torch.full((len(live) * copies,), START, device=device)
    length = 0
    while len(live):
        step = model.step(tokens, state, prepared)
        length += 1  # pieces after this step, end mark included
        saying = [draft for sentence in live.tolist() for draft in drafts[sentence]]
        uniform = torch.tensor([draft.dice.random() for draft in saying], device=device)
        full = torch.tensor([length >= limits[s] for s in live.tolist()], device=device)
        tokens = draw(step.log_probs, uniform, config)
        tokens = tokens.masked_fill(full.repeat_interleave(copies), END)
        log_probs = step.log_probs.gather(1, tokens[:, None])[:, 0].tolist()
        for draft, token, log_prob in zip(saying, tokens.tolist(), log_probs, strict=True):
            draft.say(token, log_prob)
        state = step.state
        ended = torch.tensor([draft.ended for draft in saying], device=device)
        going = ~ended.view(-1, copies).all(1)
        if not going.all():
            rows = going.repeat_interleave(copies).nonzero()[:, 0]
            state, tokens = state.select(rows), tokens[rows]
            prepared, live = prepared.select(going.nonzero()[:, 0]), live[going]
    found = ([draft.found(config) for draft in of_one] for of_one in drafts)
    return [sorted(of_one, key=lambda f: -f.score) for of_one in found]


def dice(key: str, copy: int, seed: int) -> random.Random:
    """The random numbers of one of a sentence's outputs, whatever else is in the batch."""
    return random.Random(zlib.crc32(f"{seed} {copy} {key}".encode("utf-8", "replace")))


def draw(log_probs: Tensor, uniform: Tensor, config: SearchConfig) -> Tensor:
    """One token a row (R,), by inverting the distribution at uniform numbers (R,).

    The tokens stand in the order of their ids: in the order of their probabilities, near ties would
    change places with the rounding of a batch, and the output with them.
    """
    logits = log_probs / max(config.temperature, 1e-6)
    logits[:, list(NEVER_OUTPUT)] = -torch.inf
    cumulative = likeliest(logits.softmax(-1), config).cumsum(-1)  # (R, Y)
    total = cumulative[:, -1:].contiguous()
    places = torch.searchsorted(cumulative, uniform[:, None] * total, right=True)
    last = torch.searchsorted(cumulative, total)  # rounding must not lead past it
    return torch.minimum(places, last)[:, 0]


def likeliest(probabilities: Tensor, config: SearchConfig) -> Tensor:
    """The probabilities (R, Y) of the tokens to sample from, and 0 for the others."""
    if config.top_k <= 0 and config.top_p >= 1:
        return probabilities
    ranked, tokens = probabilities.sort(-1, descending=True)
    if config.top_k > 0:
        ranked[:, config.top_k :] = 0
    before = ranked.cumsum(-1) - ranked
    ranked[before >= max(config.top_p, 1e-9)] = 0  # the likeliest always stays
    return torch.zeros_like(probabilities).scatter(-1, tokens, ranked)
