"""Sampling of outputs from a memory, by temperature, top-k and top-p.

Each output has its own random numbers, which depend on its sentence, its number and the seed alone.
"""

from __future__ import annotations

import random
import zlib
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from models.core.numerics import WITHOUT_DOUBLE
from models.core.types import select
from models.core.use_config import SearchConfig
from models.search.hypotheses import Backend, Finished, FinishedBatch, in_order
from models.search.repeats import log_probs_of
from models.text.tokenizer import END, FIRST_OUTPUT, START


@dataclass
class Samples:
    """Outputs that are being sampled: N rows for each of B sentences."""

    sentences: list[int]  # (B,) index in the batch
    # a generator for each row, so that a sample depends neither on the batch nor on other samples
    rngs: list[random.Random]  # (R,), R = B * N
    limits: Tensor  # (R,) maximum length in tokens, end mark included
    ids: Tensor  # (R, t) output so far, start mark first; end marks after its end
    log_probs: Tensor  # (R,) float64; float32 on a device without float64
    lengths: Tensor  # (R,) in tokens, end mark included
    truncated: Tensor  # (R,)

    @property
    def live(self) -> Tensor:
        """Mask (R,) of the outputs that have not ended."""
        return self.ids[:, -1] != END

    def random_numbers(self) -> Tensor:
        """Return a uniform random number for the next token of each row, (R,)."""
        return torch.tensor([rng.random() for rng in self.rngs], device=self.ids.device)

    def append(self, wanted: Tensor, log_probs: Tensor) -> None:
        """Add the tokens wanted (R,), given all log-probabilities (R, Y); end at the limit."""
        live = self.live
        # rows that have ended go on with end marks, because the rows of a batch advance together
        tokens = wanted.masked_fill(~live | (self.limits <= self.ids.shape[1]), END)
        added = log_probs.gather(1, tokens[:, None])[:, 0].to(self.log_probs.dtype)
        self.log_probs = self.log_probs + added.masked_fill(~live, 0)
        self.truncated = self.truncated | (live & (wanted != tokens))
        self.lengths = self.lengths + live
        self.ids = torch.cat([self.ids, tokens[:, None]], 1)

    def select(self, places: list[int]) -> Tensor:
        """Keep the sentences at some places only; return their rows."""
        copies = len(self.rngs) // len(self.sentences)
        kept = [place * copies + n for place in places for n in range(copies)]
        rows = torch.tensor(kept, device=self.ids.device, dtype=torch.long)
        self.sentences = [self.sentences[n] for n in places]
        self.rngs = [self.rngs[n] for n in kept]
        for name in ("limits", "ids", "log_probs", "lengths", "truncated"):
            setattr(self, name, getattr(self, name).index_select(0, rows))
        return rows


def sample(
    backend: Backend, memory: Any, limits: list[int], keys: list[str], config: SearchConfig
) -> list[list[Finished]]:
    """Sample `config.nbest` independent outputs per sentence; the first one stays first.

    A sentence whose outputs have all ended leaves the batch, so that the others decode faster.
    """
    samples, outputs = begin(limits, keys, config, memory.mask.device), []
    prepared, state = backend.start(memory)
    sentences = torch.arange(len(limits), device=memory.mask.device)
    state = select(state, sentences.repeat_interleave(config.nbest))
    while True:
        step = backend.step(samples.ids[:, -1], state, prepared)
        log_probs, state = log_probs_of(step, samples.ids, config), step.state
        samples.append(sample_tokens(log_probs, samples.random_numbers(), config), log_probs)
        going = samples.live.unflatten(0, (-1, config.nbest)).any(1).tolist()
        if all(going):
            continue
        outputs.append(finished(samples, [n for n, one in enumerate(going) if not one]))
        if not any(going):
            return in_order(outputs, config)
        kept = [n for n, one in enumerate(going) if one]
        state = select(state, samples.select(kept))
        prepared = select(prepared, torch.tensor(kept, device=samples.ids.device))


def begin(
    limits: list[int], keys: list[str], config: SearchConfig, device: torch.device
) -> Samples:
    """Return `config.nbest` empty outputs of each sentence."""
    rows = len(keys) * config.nbest
    zeros = torch.zeros(rows, device=device, dtype=torch.long)
    return Samples(
        sentences=list(range(len(keys))),
        rngs=[random_numbers(key, n, config.seed) for key in keys for n in range(config.nbest)],
        limits=torch.tensor(limits, device=device).repeat_interleave(config.nbest),
        ids=torch.full((rows, 1), START, device=device),
        # float32 would lose digits over the thousands of tokens that an output may have
        log_probs=zeros.float() if device.type in WITHOUT_DOUBLE else zeros.double(),
        lengths=zeros,
        truncated=zeros.bool(),
    )


def finished(samples: Samples, places: list[int]) -> tuple[list[int], FinishedBatch]:
    """Return the indices in the batch and the outputs of the sentences at some places."""
    shape = len(samples.sentences), -1
    log_probs, lengths, truncated = (
        part.unflatten(0, shape) for part in (samples.log_probs, samples.lengths, samples.truncated)
    )
    every = FinishedBatch(log_probs, log_probs, lengths, truncated, samples.ids.unflatten(0, shape))
    chosen = torch.tensor(places, device=samples.ids.device)
    return [samples.sentences[n] for n in places], select(every, chosen)


def random_numbers(key: str, copy: int, seed: int) -> random.Random:
    """Return the generator of one output, which depends on its key, number and the seed alone."""
    # crc32, because Python's own hash of a text differs from process to process
    return random.Random(zlib.crc32(f"{seed} {copy} {key}".encode("utf-8", "replace")))


def sample_tokens(log_probs: Tensor, uniform: Tensor, config: SearchConfig) -> Tensor:
    """Sample one token per row (R,) by inverting the distribution at uniform numbers (R,).

    Tokens are ordered by id. Ordered by probability, near ties would change places with the
    rounding of a batch, and the output with them.
    """
    # a temperature of 0 means the most probable token, and must not divide by 0
    logits = log_probs / max(config.temperature, 1e-6)
    logits[:, :FIRST_OUTPUT].fill_(-torch.inf)
    # scaled by the total below, which top-k, top-p and rounding make smaller than 1
    cumulative = most_probable(logits.softmax(-1), config).cumsum(-1)  # (R, Y)
    total = cumulative[:, -1:].contiguous()
    places = torch.searchsorted(cumulative, uniform[:, None] * total, right=True)
    last = torch.searchsorted(cumulative, total)  # rounding must not lead past it
    # a number near 1 times a rounded total may exceed every cumulative probability
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
    # compared with the sum before a token, so that the token that crosses top_p is kept
    ranked[before >= max(config.top_p, 1e-9)] = 0  # the most probable token always stays
    return torch.zeros_like(probabilities).scatter(-1, tokens, ranked)
