"""Whisper in torch: the rules of its outputs, its attention, and the slots of tokens.

Radford, Kim, Xu, Brockman, McLeavey, Sutskever 2022; the rules are those of the authors' program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.core.types import DecodingStep, Memory
from models.core.use_config import SearchConfig
from models.engines.trained import usable_device
from models.networks.bundle import read
from models.networks.decoder import Wanted
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import search
from models.speech._whisper_engine import (
    SAMPLES,
    SMOOTHED,
    Decoded,
    WhisperTokens,
    alignment_heads,
    window_features,
)
from models.speech.recordings import Floats
from models.text.tokenizer import END, START

FIRST_TIME = 50  # latest timestamp that begins an output: 1 s
Matrix = NDArray[np.floating[Any]]


class RuledState(NamedTuple):
    """State of the decoder, and the output so far, on which the rules depend."""

    decoder: Any
    logits: Tensor  # (R, Y) of the next token
    ids: Tensor  # (R, 2 + t): two timestamps, and the output


class Ruled:
    """A decoder behind a prompt, whose next token follows Whisper's rules."""

    def __init__(self, model: EncoderDecoder, tokens: WhisperTokens, prompt: Sequence[int]) -> None:
        self.model, self.tokens, self.prompt = model, tokens, prompt
        self.no_speech = 0.0  # probability that there is none in the first window

    def start(self, memory: Memory) -> tuple[Any, RuledState]:
        """Return the prepared memory of B windows, and the state after the prompt."""
        prepared, state = self.model.start(memory)
        ids = torch.tensor([self.prompt] * len(memory.mask), device=memory.mask.device)
        advanced = self.model.decoder.advance(ids, state, prepared)
        places = [self.prompt.index(START), -1]
        at_start, logits = self.model.output(advanced.features[:, places]).float().unbind(1)
        self.no_speech = float(at_start.softmax(-1)[0, self.tokens.no_speech])
        first = torch.full_like(ids[:, :2], self.tokens.times)
        return prepared, RuledState(advanced.state, logits, first)

    def step(self, tokens: Tensor, state: RuledState, prepared: Any) -> DecodingStep:
        """Return the next token's distribution under the rules, and the state."""
        if bool((tokens != START).any()):  # the state has not read them
            step = self.model.step(tokens, state.decoder, prepared)
            ids = torch.cat([state.ids, tokens[:, None]], 1)
            state = RuledState(step.state, step.logits, ids)
        return DecodingStep(self._ruled(state.logits.clone(), state.ids), state)

    def _ruled(self, logits: Tensor, ids: Tensor) -> Tensor:
        """Return the logits (R, Y) with -inf for tokens that the rules forbid."""
        times, begins = self.tokens.times, ids.shape[1] == 2
        logits[:, self.tokens.no_speech] = -torch.inf
        if begins:
            logits[:, [*self.tokens.blank, END]] = -torch.inf
        if self.prompt[-1] == self.tokens.no_times:
            return logits
        logits[:, self.tokens.no_times] = -torch.inf
        places = torch.arange(logits.shape[1], device=logits.device)
        is_time = ids[:, -2:] >= times
        single = (is_time[:, 1] & ~is_time[:, 0])[:, None]
        if begins:
            allowed = ((places >= times) & (places <= times + FIRST_TIME)).expand_as(logits)
        else:  # a second timestamp or the end follows a single one
            text = ~single | (places == END) | (places >= self.tokens.special)
            later = places > ids.amax(1, keepdim=True) - single.long()  # times are the last ids
            allowed = torch.where(places < times, text, later & ~is_time.all(1, keepdim=True))
        logits.masked_fill_(~allowed, -torch.inf)
        log_probs = logits.log_softmax(-1)
        sure = log_probs[:, times:].logsumexp(-1) > log_probs[:, :times].amax(-1)
        logits[:, :times].masked_fill_(sure[:, None], -torch.inf)
        return logits


class TorchWhisper:
    """Whisper's engine in torch; see `CTranslate2Whisper`."""

    def __init__(self, model: EncoderDecoder, tokens: WhisperTokens, device: torch.device) -> None:
        self.model, self.tokens, self.device = model, tokens, device

    @classmethod
    def read(cls, folder: Path, tokens: WhisperTokens, device: str, threads: int) -> TorchWhisper:
        """Read the model of a bundle. threads: of the processor; 0: all."""
        if threads:
            torch.set_num_threads(threads)
        place = usable_device(device)
        return cls(read(folder).model.to(place).eval(), tokens, place)

    @torch.inference_mode()
    def encode(self, samples: Floats) -> Memory:
        """Return the memory of the samples of one window."""
        features = torch.from_numpy(window_features(samples, self.model.config.audio))
        mask = torch.ones(1, len(features), dtype=torch.bool, device=self.device)
        return self.model.encode(features[None].to(self.device), mask)

    @torch.inference_mode()
    def language(self, memory: Memory) -> str:
        """Return the most probable language."""
        prepared, state = self.model.start(memory)
        step = self.model.step(torch.tensor([START], device=self.device), state, prepared)
        places = self.tokens.languages
        return self.tokens.codes[int(step.logits[0, places].argmax())] if places else "en"

    @torch.inference_mode()
    def decode(
        self, memory: Memory, prompt: Sequence[int], config: SearchConfig, key: str
    ) -> Decoded:
        """Return the best output after a prompt."""
        ruled = Ruled(self.model, self.tokens, prompt)
        longest = self.model.config.max_source
        limit = min(longest // 2, longest - len(prompt)) + 1
        if config.method == "sample":
            config = replace(config, nbest=SAMPLES)
        [outputs] = search(ruled, memory, [limit], [key], config)
        found = (Decoded(o.ids, o.log_prob, ruled.no_speech) for o in outputs)
        return max(found, key=lambda one: one.mean)

    def align(
        self, memory: Memory, prompt: Sequence[int], ids: Sequence[int], slots: int
    ) -> tuple[list[int], list[float]]:
        """Return the first slots of tokens, and their probabilities."""
        weights, probabilities = self.attention(memory, prompt, ids, slots)
        return token_starts(weights.numpy()), probabilities

    @torch.inference_mode()
    def attention(
        self, memory: Memory, prompt: Sequence[int], ids: Sequence[int], slots: int
    ) -> tuple[Tensor, list[float]]:
        """Return the weights (H, T + 1, S) by which some heads predict tokens and the end mark.

        S: slots of the sound, without those of the padding. Also return the probability of each
        token. The heads are those for times, by default those of the upper layers.
        """
        prepared, state = self.model.start(memory)
        given = torch.tensor([[*prompt, *ids]], device=self.device)
        wanted = Wanted(heads=range(self.model.config.decoder_layers))
        advanced = self.model.decoder.advance(given, state, prepared, wanted)
        assert advanced.heads is not None
        first = len(prompt) - 1
        chosen = alignment_heads(self.model.config)
        every = torch.stack([advanced.heads[0, layer, head] for layer, head in chosen])
        weights = every[:, first:, :slots].float().cpu()
        texts = slice(END + 1, self.tokens.special)
        shares = self.model.output(advanced.features[0, first:-1])[:, texts].float().softmax(-1)
        each = shares[torch.arange(len(ids)), given[0, first + 1 :] - texts.start].tolist()
        return weights / weights.sum(-1, keepdim=True), each


def token_starts(weights: Matrix) -> list[int]:
    """Return the slot at which each token begins, given the weights (H, T, S) of some heads.

    Each slot's weights are standardised over tokens, then smoothed over slots by their median.
    """
    deviations = weights.std(1, keepdims=True).clip(1e-12)
    each, half = (weights - weights.mean(1, keepdims=True)) / deviations, SMOOTHED // 2
    if each.shape[-1] > half:
        padded = np.pad(each, [(0, 0), (0, 0), (half, half)], "reflect")
        each = np.median(np.lib.stride_tricks.sliding_window_view(padded, SMOOTHED, -1), -1)
    return first_slots(each.mean(0))


def first_slots(weights: Matrix) -> list[int]:
    """Return the slot at which each token begins, given weights (T, S): dynamic time warping.

    D_ts = -w_ts + min(D_t-1,s-1, D_t-1,s, D_t,s-1)                     Sakoe and Chiba 1978

    The minimum over the steps of one token is a running minimum of what precedes each slot less the
    sum of the weights before it. A token begins at the first slot of its row.
    """
    tokens, slots = weights.shape
    costs = np.full((tokens + 1, slots + 1), np.inf)
    costs[0, 0] = 0
    for token, row in enumerate(-weights.astype(float), 1):
        before = np.minimum(costs[token - 1, :-1], costs[token - 1, 1:])
        sums = np.cumsum(row)
        costs[token, 1:] = sums + np.minimum.accumulate(before - sums + row)
    token, slot, starts = tokens, slots, [0] * tokens
    while token > 1:
        (both, above), (left, _) = costs[token - 1 : token + 1, slot - 1 : slot + 1]
        if min(both, above) < left:  # the token before this one ends here
            starts[token - 1] = slot - 1
            token -= 1
        slot -= not above < min(both, left)
    return starts
