"""Whisper in torch and in CTranslate2: encoding, the rules of its outputs, and the slots of tokens.

Radford, Kim, Xu, Brockman, McLeavey, Sutskever 2022; the rules are those of the authors' program.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from numpy.typing import NDArray
from torch import Tensor

from models.core.config import ModelConfig
from models.core.types import DecodingStep, Memory
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_cache import cached, checked_digest
from models.engines.ctranslate2_convert import converted_whisper, read_weights
from models.engines.whisper_windows import (
    Decoded,
    Found,
    WhisperPrompt,
    WhisperTokens,
    window_features,
)
from models.networks.decoder import Wanted
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import search
from models.search.hypotheses import beam_width
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS
from models.text.tokenizer import END, START

FIRST_TIME = 50  # latest timestamp that begins an output: 1 s
SMOOTHED = 7  # slots of the median filter of attention


class RuledState(NamedTuple):
    """State of the decoder, and the part of the output that the rules depend on."""

    decoder: Any
    logits: Tensor  # (R, Y) of the next token
    last: Tensor  # (R,) token
    before: Tensor  # (R,) the token before it; a timestamp if there is none
    time: Tensor  # (R,) latest timestamp
    read: int = 0  # tokens


class Ruled:
    """A decoder behind a prompt, whose next token follows Whisper's rules."""

    def __init__(self, model: EncoderDecoder, tokens: WhisperTokens, prompt: WhisperPrompt) -> None:
        self.model, self.tokens, self.prompt = model, tokens, prompt
        self.no_speech = 0.0  # probability that there is none in the first window

    def start(self, memory: Memory) -> tuple[Any, RuledState]:
        """Return the prepared memory of B windows, and the state after the prompt."""
        prepared, state = self.model.start(memory)
        ids = torch.tensor([self.prompt.ids] * len(memory.mask), device=memory.mask.device)
        advanced = self.model.decoder.advance(ids, state, prepared)
        places = [self.prompt.ids.index(START), -1]
        at_start, logits = self.model.output(advanced.features[:, places]).float().unbind(1)
        self.no_speech = float(at_start.softmax(-1)[0, self.tokens.no_speech])
        first = torch.full_like(ids[:, 0], self.tokens.times)
        return prepared, RuledState(advanced.state, logits, first, first, first - 1)

    def step(self, tokens: Tensor, state: RuledState, prepared: Any) -> DecodingStep:
        """Return the next token's distribution under the rules, and the state."""
        if bool((tokens != START).any()):  # the state has not read them
            step = self.model.step(tokens, state.decoder, prepared)
            time = torch.where(tokens >= self.tokens.times, tokens, state.time)
            state = RuledState(step.state, step.logits, tokens, state.last, time, state.read + 1)
        return DecodingStep(self._ruled(state), state)

    def _ruled(self, state: RuledState) -> Tensor:
        """Return the logits (R, Y) with -inf for tokens that the rules forbid."""
        times, logits = self.tokens.times, state.logits.clone()
        logits[:, self.tokens.no_speech] = -torch.inf
        if not state.read:
            logits[:, [*self.tokens.blank, END]] = -torch.inf
        if not self.prompt.timed:
            return logits
        logits[:, self.tokens.no_times] = -torch.inf
        places = torch.arange(logits.shape[1], device=logits.device)
        single = ((state.last >= times) & (state.before < times))[:, None]
        paired = ((state.last >= times) & (state.before >= times))[:, None]
        if state.read:
            ends = (places == END) | (places >= self.tokens.special)
            text = ~single | ends  # a second timestamp or the end follows a single one
            later = places > state.time[:, None] - single.long()
            allowed = torch.where(places < times, text, later & ~paired)
        else:
            allowed = ((places >= times) & (places <= times + FIRST_TIME)).expand_as(logits)
        logits.masked_fill_(~allowed, -torch.inf)
        log_probs = logits.log_softmax(-1)
        sure = log_probs[:, times:].logsumexp(-1) > log_probs[:, :times].amax(-1)
        logits[:, :times].masked_fill_(sure[:, None], -torch.inf)
        return logits


class TorchWhisper:
    """Whisper's engine in torch; see `windows.Engine`."""

    def __init__(self, model: EncoderDecoder, tokens: WhisperTokens, device: torch.device) -> None:
        self.model, self.tokens, self.device = model, tokens, device
        self.audio = model.config.audio

    @torch.inference_mode()
    def encode(self, samples: Tensor) -> Memory:
        """Return the memory of the samples of one window."""
        features = window_features(samples, self.audio).to(self.device)
        mask = torch.ones(features.shape[:2], dtype=torch.bool, device=self.device)
        return self.model.encode(features, mask)

    @torch.inference_mode()
    def languages(self, memory: Memory) -> list[float]:
        """Return the probability of each language."""
        prepared, state = self.model.start(memory)
        step = self.model.step(torch.tensor([START], device=self.device), state, prepared)
        found: list[float] = step.logits[0, self.tokens.languages].softmax(-1).tolist()
        return found

    @torch.inference_mode()
    def decode(
        self, memory: Memory, prompt: WhisperPrompt, config: SearchConfig, key: str
    ) -> Decoded:
        """Return the best output after a prompt."""
        ruled = Ruled(self.model, self.tokens, prompt)
        longest = self.model.config.max_source
        limit = min(longest // 2, longest - len(prompt.ids)) + 1
        best = search(ruled, memory, [limit], [key], config)[0][0]
        return Decoded(best.ids, best.log_prob, ruled.no_speech, best.truncated)

    def align(self, memory: Memory, prompt: WhisperPrompt, ids: Sequence[int], slots: int) -> Found:
        """Return first slots and probabilities of tokens; see `windows.WhisperEngine`."""
        weights, probabilities = self.attention(memory, prompt, ids, slots)
        return token_starts(weights), probabilities

    @torch.inference_mode()
    def attention(
        self, memory: Memory, prompt: WhisperPrompt, ids: Sequence[int], slots: int
    ) -> tuple[Tensor, list[float]]:
        """Return the weights (H, T + 1, S) by which some heads predict tokens and the end mark.

        S: slots of the sound, without those of the padding. Also return the probability of each
        token. The heads are those for times, by default those of the upper layers.
        """
        prepared, state = self.model.start(memory)
        chosen = alignment_heads(self.model.config)
        given = torch.tensor([[*prompt.ids, *ids]], device=self.device)
        wanted = Wanted(heads=range(self.model.config.decoder_layers))
        advanced = self.model.decoder.advance(given, state, prepared, wanted)
        assert advanced.heads is not None
        first = len(prompt.ids) - 1
        every = torch.stack([advanced.heads[0, layer, head] for layer, head in chosen])
        weights = every[:, first:, :slots].float().cpu()
        texts = slice(END + 1, self.tokens.special)
        shares = self.model.output(advanced.features[0, first:-1])[:, texts].float().softmax(-1)
        each = shares[torch.arange(len(ids)), given[0, first + 1 :] - texts.start].tolist()
        return weights / weights.sum(-1, keepdim=True), each


def alignment_heads(config: ModelConfig) -> list[tuple[int, int]]:
    """Return layer and head, from 0, of those that give times; by default of the upper layers."""
    layers = range(config.decoder_layers // 2, config.decoder_layers)
    named = [each.split(".") for each in config.audio.alignment_heads]
    chosen = [(int(layer) - 1, int(head) - 1) for layer, head in named]
    return chosen or [(layer, head) for layer in layers for head in range(config.heads)]


def token_starts(weights: Tensor) -> list[int]:
    """Return the slot at which each token begins, given the weights (H, T, S) of some heads.

    Each slot's weights are standardised over tokens, then smoothed over slots.
    """
    deviation, mean = torch.std_mean(weights, 1, keepdim=True, correction=0)
    each = smoothed(((weights - mean) / deviation.clamp_min(1e-12)).numpy(), SMOOTHED)
    return first_slots(each.mean(0))


class CTranslate2Whisper:
    """Whisper's engine in CTranslate2; see `windows.Engine`.

    Its rules need the published order of the tokens: texts, then `<|endoftext|>`,
    `<|startoftranscript|>`, the other special tokens, and timestamps. torch samples, because the
    random numbers of CTranslate2 depend on what its threads did before.
    """

    def __init__(self, folder: Path, torch: TorchWhisper, threads: int = 0) -> None:
        self.torch, self.tokens, self.config = torch, torch.tokens, torch.model.config
        tokens = self.tokens
        count = tokens.tokenizer.target.get_piece_size()
        self.order = [*range(END + 1, tokens.special), END, START, *range(tokens.special, count)]
        self.places = {number: place for place, number in enumerate(self.order)}
        digest = checked_digest(folder, [CONFIG, WEIGHTS, *tokens.tokenizer.files()])
        place, files = cached(f"{digest}-whisper", lambda: self._converted(folder))
        library: Any = import_module("ctranslate2")
        self.model = library.models.Whisper(str(place), files=files, intra_threads=threads)

    def _converted(self, folder: Path) -> dict[str, bytes]:
        tokens, names = self.tokens, {number: f"{number}" for number in self.order}
        names |= {number: f"<|{name}|>" for name, number in tokens.ids.items()}
        names |= {n: f"<|{c}|>" for c, n in zip(tokens.codes, tokens.languages, strict=True)}
        names |= {END: "<|endoftext|>", START: "<|startoftranscript|>"}
        names |= {tokens.no_speech: "<|nospeech|>"}
        names |= {tokens.special - 1: ""} if tokens.codes else {}  # makes it multilingual
        settings = {
            "suppress_ids": [self.places[tokens.no_speech]],
            "suppress_ids_begin": [self.places[number] for number in (*tokens.blank, END)],
            "alignment_heads": alignment_heads(self.config),
            "lang_ids": [self.places[number] for number in tokens.languages],
        }
        weights = read_weights(folder / WEIGHTS)
        files = converted_whisper(weights, self.config, self.order, settings)
        vocabulary = json.dumps([names[number] for number in self.order])
        return {**files, "vocabulary.json": vocabulary.encode()}

    def encode(self, samples: Tensor) -> Any:
        """Return the memory of the samples of one window."""
        features = window_features(samples, self.config.audio).mT.contiguous().numpy()
        return self.model.encode(import_module("ctranslate2").StorageView.from_array(features))

    def languages(self, memory: Any) -> list[float]:
        """Return the probability of each language."""
        shares = dict(self.model.detect_language(memory)[0])
        return [shares[f"<|{code}|>"] for code in self.tokens.codes]

    def decode(self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str) -> Decoded:
        """Return the best output after a prompt."""
        if search.method == "sample":
            return self.torch.decode(self.in_torch(memory), prompt, search, key)
        [result] = self.model.generate(
            memory,
            [[self.places[number] for number in prompt.ids]],
            beam_size=beam_width(search),
            length_penalty=search.length_penalty,
            max_length=self.config.max_source,
            return_scores=True,
            return_no_speech_prob=True,
        )
        ids = tuple(self.order[place] for place in result.sequences_ids[0])
        log_prob = result.scores[0] * len(ids) ** search.length_penalty
        return Decoded(ids, log_prob, result.no_speech_prob)

    def align(self, memory: Any, prompt: WhisperPrompt, ids: Sequence[int], slots: int) -> Found:
        """Return first slots and probabilities of tokens; see `windows.WhisperEngine`."""
        start = [self.places[number] for number in prompt.ids[:-1]]  # it adds the last one
        text = [self.places[number] for number in ids]
        [found] = self.model.align(memory, start, [text], 2 * slots, median_filter_width=SMOOTHED)
        starts = dict(reversed(found.alignments))
        return [starts[token] for token in range(len(ids) + 1)], found.text_token_probs

    def in_torch(self, memory: Any) -> Memory:
        """Return a memory of `encode` for torch."""
        values = torch.from_numpy(numpy.array(memory))
        return Memory(values, torch.ones(values.shape[:2], dtype=torch.bool))


Matrix = NDArray[numpy.floating[Any]]


def first_slots(weights: Matrix) -> list[int]:
    """Return the slot at which each token begins, given weights (T, S): dynamic time warping.

    The path (t, s) goes from the first token and slot to the last ones in steps of at most one of
    each; it has the greatest sum of weights. A token begins at the first slot of its row.
    Sakoe and Chiba 1978; Radford et al. 2022 for the times of words
    """
    tokens, slots = weights.shape
    trace = _steps(-weights)
    token, slot, starts = tokens - 1, slots - 1, [0] * tokens
    while token > 0:
        step = trace[token, slot]
        if step != 2:  # the token before this one ends here
            starts[token] = int(slot)
            token -= 1
        slot -= step != 1
    return starts


def _steps(costs: Matrix) -> NDArray[numpy.int8]:
    """Return the last step to each cell: 0 of both, 1 of a token, 2 of a slot.

    The cells of a diagonal, whose t + s is equal, are computed at once.
    """
    tokens, slots = costs.shape
    trace = numpy.full((tokens, slots), 2, numpy.int8)
    trace[1:, 0] = 1
    last = numpy.full(tokens + 1, numpy.inf, "f4")  # of the diagonal before; index t + 1
    before = last.copy()
    before[0] = 0  # above and left of the first cell
    for diagonal in range(tokens + slots - 1):
        rows = numpy.arange(max(0, diagonal - slots + 1), min(tokens, diagonal + 1))
        both, token, slot = before[rows], last[rows], last[rows + 1]
        found = numpy.full(tokens + 1, numpy.inf, "f4")
        steps = numpy.where((both < token) & (both < slot), 0, 2)
        steps = numpy.where((token < both) & (token < slot), 1, steps)
        best = numpy.choose(steps, (both, token, slot))
        found[rows + 1] = costs[rows, diagonal - rows] + best
        trace[rows, diagonal - rows] = steps
        before, last = last, found
    return trace


def smoothed(weights: Matrix, width: int) -> Matrix:
    """Return the median of `width` slots, an odd number, around each slot of weights (.., S)."""
    half = width // 2
    if weights.shape[-1] <= half:
        return weights
    padded = numpy.pad(weights, [(0, 0)] * (weights.ndim - 1) + [(half, half)], "reflect")
    views = numpy.lib.stride_tricks.sliding_window_view(padded, width, -1)
    found: Matrix = numpy.median(views, -1)
    return found
