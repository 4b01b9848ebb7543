"""Whisper's tokens and prompts, and its search by CTranslate2. Imports no torch."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.ctranslate2_cache import cached, checked_digest
from models.engines.ctranslate2_convert import converted_whisper, read_weights
from models.engines.ctranslate2_translator import COMPUTE_TYPES
from models.search.hypotheses import beam_width
from models.speech.config import AudioConfig, SpeechTransformerConfig
from models.speech.features import log_mel
from models.speech.recordings import Floats
from models.storage.settings import NAME as CONFIG
from models.storage.settings import WEIGHTS
from models.text.tokenizer import END, START, Tokenizer

SMOOTHED = 7  # slots of the median filter of attention
SAMPLES = 5  # outputs that are sampled, of which the most probable is kept


class Decoded(NamedTuple):
    """Output of a window."""

    ids: tuple[int, ...]  # without the end mark
    log_prob: float  # end mark included
    no_speech: float = 0.0  # probability that there is no speech
    temperature: float = 0.0

    @property
    def mean(self) -> float:
        """Mean log-probability of a token."""
        return self.log_prob / (len(self.ids) + 1)


class WhisperTokens:
    """Ids of Whisper's special tokens."""

    def __init__(self, tokenizer: Tokenizer, config: TokenizerConfig) -> None:
        self.tokenizer, self.codes = tokenizer, config.languages
        names = ("transcribe", "translate", "startofprev", "notimestamps")
        self.ids = {name: tokenizer.control_id(f"<|{name}|>") for name in names}
        self.no_times = self.ids["notimestamps"]
        self.times = self.no_times + 1  # <|0.00|>
        self.no_speech = self.no_times - 1
        self.languages = [tokenizer.language_id(code) for code in config.languages]
        self.special = min(self.languages + [*self.ids.values()])  # the first after texts
        self.blank: list[int] = tokenizer.target.encode(" ")

    def prompt(
        self, language: str, *, to: str = "", timed: bool = False, before: Sequence[int] = ()
    ) -> list[int]:
        """Return the tokens before an output. before: those of earlier windows.

        language: of the recording. to: en for a translation. timed: the output has timestamps.
        """
        earlier = (self.ids["startofprev"], *before) if before else ()
        kind: tuple[int, ...] = ()
        if self.codes:
            task = "translate" if to and to != language else "transcribe"
            kind = (self.languages[self.codes.index(language)], self.ids[task])
        return [*earlier, START, *kind, *(() if timed else (self.no_times,))]

    def of_text(self, ids: Sequence[int]) -> list[int]:
        """Return tokens without timestamps."""
        return [number for number in ids if number < self.times]


def window_features(samples: Floats, config: AudioConfig) -> Floats:
    """Return the features (F, bands) of the samples (N,) of a window, padded with zeros."""
    missing = round(config.padded * config.rate) - len(samples)
    return log_mel(np.pad(samples, (0, max(0, missing))), config)


def alignment_heads(config: SpeechTransformerConfig) -> list[tuple[int, int]]:
    """Return layer and head, from 0, of those that give times; by default of the upper layers."""
    layers = range(config.decoder_layers // 2, config.decoder_layers)
    named = [each.split(".") for each in config.audio.alignment_heads]
    chosen = [(int(layer) - 1, int(head) - 1) for layer, head in named]
    return chosen or [(layer, head) for layer in layers for head in range(config.heads)]


class CTranslate2Whisper:
    """Whisper's engine in CTranslate2.

    Its rules need the published order of the tokens: texts, then `<|endoftext|>`,
    `<|startoftranscript|>`, the other special tokens, and timestamps.
    """

    def __init__(
        self,
        folder: Path,
        tokens: WhisperTokens,
        config: SpeechTransformerConfig,
        *,
        precision: str = "fp32",
        threads: int = 0,
    ) -> None:
        self.tokens, self.config = tokens, config
        count = tokens.tokenizer.target.get_piece_size()
        self.order = [*range(END + 1, tokens.special), END, START, *range(tokens.special, count)]
        self.places = {number: place for place, number in enumerate(self.order)}
        digest = checked_digest(folder, [CONFIG, WEIGHTS, *tokens.tokenizer.files()])
        place, files = cached(
            f"{digest}-whisper-{precision}", lambda: self._converted(folder, precision)
        )
        kind = COMPUTE_TYPES[precision]
        opened = partial(import_module("ctranslate2").models.Whisper, str(place), compute_type=kind)
        self.opened: Callable[[], Any] = partial(opened, files=files, intra_threads=threads)
        self.model = self.opened()

    def _converted(self, folder: Path, precision: str) -> dict[str, bytes]:
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
        files = converted_whisper(weights, self.config, self.order, settings, precision)
        vocabulary = json.dumps([names[number] for number in self.order])
        return {**files, "vocabulary.json": vocabulary.encode()}

    def encode(self, samples: Floats) -> Any:
        """Return the memory of the samples of one window."""
        features = np.ascontiguousarray(window_features(samples, self.config.audio).T[None])
        return self.model.encode(import_module("ctranslate2").StorageView.from_array(features))

    def language(self, memory: Any) -> str:
        """Return the most probable language."""
        if not self.tokens.codes:
            return "en"
        name: str = self.model.detect_language(memory)[0][0][0]
        return name[2:-2]  # of <|en|>

    def decode(self, memory: Any, prompt: Sequence[int], search: SearchConfig, key: str) -> Decoded:
        """Return the best output after a prompt. key: seeds the random numbers of samples.

        The random numbers of CTranslate2 depend on what its thread did before, so a model with a
        new thread samples.
        """
        options: dict[str, object] = {"beam_size": beam_width(search)}
        if search.method == "sample":
            import_module("ctranslate2").set_random_seed(
                zlib.crc32(f"{search.seed} {key}".encode())
            )
            self.model = None  # two would take twice the memory
            self.model = self.opened()
            options = {"sampling_temperature": search.temperature, "sampling_topk": search.top_k}
            options |= {"beam_size": 1, "num_hypotheses": SAMPLES}
        [result] = self.model.generate(
            memory,
            [[self.places[number] for number in prompt]],
            **options,
            length_penalty=search.length_penalty,
            repetition_penalty=search.repetition_penalty,
            no_repeat_ngram_size=search.no_repeat,
            max_length=self.config.max_source,
            return_scores=True,
            return_no_speech_prob=True,
        )
        ids = tuple(self.order[place] for place in result.sequences_ids[0])
        log_prob = result.scores[0] * len(ids) ** search.length_penalty
        return Decoded(ids, log_prob, result.no_speech_prob)

    def align(
        self, memory: Any, prompt: Sequence[int], ids: Sequence[int], slots: int
    ) -> tuple[list[int], list[float]]:
        """Return the first slot of each token and of the end mark, and the tokens' probabilities.

        prompt: without timestamps. slots: of the sound in the window.
        """
        start = [self.places[number] for number in prompt[:-1]]  # it adds the last one
        text = [self.places[number] for number in ids]
        [found] = self.model.align(memory, start, [text], 2 * slots, median_filter_width=SMOOTHED)
        starts = dict(reversed(found.alignments))
        return [starts[token] for token in range(len(ids) + 1)], found.text_token_probs
