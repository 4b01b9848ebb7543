"""Recordings of any length by Whisper: windows of 30 s, each with the text of those before it.

A window ends at the last timestamp of its output, where the next one begins. An output that repeats
itself or is improbable is searched again, by sampling at higher temperatures. A window without
speech is left out. Radford et al. 2022, sections 3.8 and 4.5.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from models.core.config import AudioConfig, ModelConfig
from models.core.errors import ConfigurationError, unknown_name
from models.core.use_config import SearchConfig, TokenizerConfig
from models.engines.whisper_words import (
    PER_SECOND,
    SILENCE,
    UNSPACED,
    TimedPart,
    heard_words,
    invented,
    with_words,
)
from models.signals.recordings import is_audible, silence
from models.signals.sound_features import log_mel
from models.text.languages import known_language
from models.text.tokenizer import START, Tokenizer

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MOST_COMPRESSED = 2.4  # bytes of a text over those that zlib needs; above it repeats itself
LEAST_LOG_PROB = -1.0  # mean of the tokens, end mark included
NO_SPEECH = 0.6  # probability from which an improbable output is no speech
TOO_RANDOM = 0.5  # temperature above which a text is no prompt for the next window
QUIET = 0.2  # loudness, over the largest so far, below which a part may be invented


class WhisperPrompt(NamedTuple):
    """Tokens before an output, and True if the output has timestamps."""

    ids: tuple[int, ...]
    timed: bool


class Decoded(NamedTuple):
    """Output of a window."""

    ids: tuple[int, ...]  # without the end mark
    log_prob: float  # end mark included
    no_speech: float = 0.0  # probability that there is no speech
    truncated: bool = False
    temperature: float = 0.0

    @property
    def mean(self) -> float:
        """Mean log-probability of a token."""
        return self.log_prob / (len(self.ids) + 1)

    @property
    def is_silent(self) -> bool:
        """True if there probably is no speech, and the output is improbable."""
        return self.no_speech > NO_SPEECH and self.mean <= LEAST_LOG_PROB


class SoundWindow(NamedTuple):
    """A window with its output."""

    start: float  # seconds from the start of the recording
    samples: Tensor  # (N,)
    language: str
    found: Decoded
    parts: list[TimedPart]
    memory: Any = None


Found = tuple[Sequence[int], Sequence[float]]  # first slots of tokens and end; probabilities


class WhisperEngine(Protocol):
    """Whisper as windows use it, run by any engine."""

    def encode(self, samples: Any) -> Any:
        """Return the memory of the samples of one window."""

    def languages(self, memory: Any) -> Sequence[float]:
        """Return the probability of each language."""

    def decode(self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str) -> Decoded:
        """Return the best output after a prompt. key: seeds the random numbers of samples."""

    def align(self, memory: Any, prompt: WhisperPrompt, ids: Sequence[int], slots: int) -> Found:
        """Return the first slot of each token and of the end mark, and the tokens' probabilities.

        prompt: without timestamps. slots: of the sound in the window.
        """


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
    ) -> WhisperPrompt:
        """Return the tokens before an output. before: tokens of earlier windows.

        language: of the recording. to: en for a translation. Raises ModelError for a language that
        the model does not know.
        """
        earlier = (self.ids["startofprev"], *before) if before else ()
        kind: tuple[int, ...] = ()
        if self.codes:
            task = "translate" if to and to != language else "transcribe"
            kind = (self.language_id(language), self.ids[task])
        return WhisperPrompt((*earlier, START, *kind, *(() if timed else (self.no_times,))), timed)

    def language_id(self, code: str) -> int:
        """Return the token of a language."""
        return self.languages[self.codes.index(code)]

    def language(self, code: str) -> str:
        """Return the language that a code means; raise ModelError for one that is not known."""
        known = self.codes or ("en",)
        found = known_language(code, known)
        if found not in known:
            raise unknown_name("language", code, known)
        return found

    def target(self, language: str, to: str) -> str:
        """Return the language of the text; raise ModelError unless it is spoken, or English."""
        if to and (found := self.language(to)) not in ("en", language):
            raise ConfigurationError(
                f"--to {found} for a recording in {language or 'a language to detect'}",
                "en: Whisper translates to English alone",
                "transcribe it, then use `attn translate`",
            )
        return to and found

    def text(self, ids: Sequence[int]) -> str:
        """Return the text of tokens, without timestamps."""
        return self.tokenizer.decode([number for number in ids if number < self.times])


class Stream:
    """Samples of which so many are held as are asked for."""

    def __init__(self, blocks: Iterable[Tensor]) -> None:
        self.blocks, self.held = iter(blocks), torch.zeros(0)
        self.place = 0  # samples that were skipped

    def ahead(self, count: int) -> Tensor:
        """Return the next samples (N,), at most `count`, and keep them."""
        while len(self.held) < count and (block := next(self.blocks, None)) is not None:
            self.held = torch.cat([self.held, block])
        return self.held[:count]

    def skip(self, count: int) -> None:
        """Leave out the next samples."""
        self.place += min(count, len(self.ahead(count)))
        self.held = self.held[count:]


class Windows:
    """Recordings to windows with outputs, by an engine."""

    def __init__(self, engine: WhisperEngine, tokens: WhisperTokens, config: ModelConfig) -> None:
        self.engine, self.tokens, self.longest = engine, tokens, config.max_source
        self.rate = config.audio.rate
        self.size = round(config.audio.padded * self.rate)  # samples of a window

    def read(
        self,
        stream: Stream,
        search: SearchConfig,
        language: str = "",
        to: str = "",
        *,
        times: bool = False,
    ) -> Iterator[SoundWindow]:
        """Yield the windows of a recording that have speech, in order.

        stream: of its samples. language: of the recording; it is detected if empty. to: en for a
        translation. times: True adds the times of words. What is silent is left out.
        """
        before, last, loudest = list[int](), 0.0, 0.0
        while len(part := stream.ahead(self.size)):
            if silent := silence(part, self.rate):
                stream.skip(silent)
                continue
            start, memory = stream.place / self.rate, self.engine.encode(part)
            language = language or self.detected(memory)
            said = before[-(self.longest // 2 - 1) :]
            prompt = self.tokens.prompt(language, to=to, timed=True, before=said)
            found = self._decoded(memory, prompt, search, f"{stream.place}")
            slots = max(1, len(part) * PER_SECOND // self.rate)
            parts, moved = divided(found.ids, self.tokens.times, slots)
            parts = [one for one in parts if is_audible(one.of(part, self.rate))]
            window = SoundWindow(start, part, language, found, parts, memory)
            loudest = max(loudest, loudness(part, self.rate))
            heard = (loudness(one.of(part, self.rate), self.rate) for one in parts)
            quiet = [each < QUIET * loudest for each in heard]
            if not found.is_silent and (times or any(quiet)):
                window, moved = self._checked(window, quiet, last, moved, to)
            stream.skip(self.size if moved == slots else moved * self.rate // PER_SECOND)
            if found.is_silent or not window.parts:
                continue
            yield window
            last = start + window.parts[-1].times[1]
            before += [number for one in window.parts for number in one.ids]
            before = before if found.temperature <= TOO_RANDOM else []

    def _checked(
        self, window: SoundWindow, quiet: list[bool], last: float, moved: int, to: str
    ) -> tuple[SoundWindow, int]:
        """Return a window with words and the parts that are spoken, and the slot of the next one.

        quiet: True for parts that may be invented. last: end of the part before it, in seconds.
        moved: slot of the next window by timestamps.
        """
        times, samples = self.tokens.times, len(window.samples)
        texts = [[n for n in one.ids if n < times] for one in window.parts]
        if not (ids := list(itertools.chain.from_iterable(texts))):
            return window, moved
        begins = [0, *itertools.accumulate(map(len, texts))]
        slots = max(1, samples * PER_SECOND // self.rate)
        prompt = self.tokens.prompt(window.language, to=to)
        places, shares = self.engine.align(window.memory, prompt, ids, slots)
        starts = [place / PER_SECOND for place in places]
        spaced = (to or window.language) not in UNSPACED
        words, usual = heard_words(
            self.tokens.tokenizer, ids, starts, shares, spaced=spaced, begins=begins
        )
        last -= window.start
        parts = with_words(window.parts, words, usual, last, moved, times)
        end, whole = samples / self.rate, self.size / self.rate
        if (place := invented(parts, quiet, last, end, whole)) is not None:
            moved = round(PER_SECOND * max(1.0, parts[place].times[0]))
            if end < whole and end - parts[place].times[1] < SILENCE:
                moved = slots
        return window._replace(parts=parts[:place]), min(moved, slots)

    def detected(self, memory: Any) -> str:
        """Return the most probable language of a window."""
        if not self.tokens.codes:
            return "en"
        shares = self.engine.languages(memory)
        return self.tokens.codes[max(range(len(shares)), key=shares.__getitem__)]

    def _decoded(
        self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str
    ) -> Decoded:
        """Return the first output that neither repeats itself nor is improbable, or the last."""
        for temperature in TEMPERATURES:
            sampling = replace(search, method="sample", temperature=temperature, nbest=1)
            found = self.engine.decode(memory, prompt, sampling if temperature else search, key)
            found = found._replace(temperature=temperature)
            loops = compression(self.tokens.text(found.ids)) > MOST_COMPRESSED
            if found.is_silent or (found.mean >= LEAST_LOG_PROB and not loops):
                break
        return found


def window_features(samples: Tensor, config: AudioConfig) -> Tensor:
    """Return the features (1, F, bands) of the samples (N,) of a window, padded with zeros."""
    missing = round(config.padded * config.rate) - len(samples)
    return log_mel(torch.nn.functional.pad(samples, (0, max(0, missing))), config)[None]


def divided(ids: tuple[int, ...], times: int, slots: int) -> tuple[list[TimedPart], int]:
    """Divide an output where two timestamps meet; also return the slot of the next window.

    times: the first timestamp. slots: of the sound in the window.
    """
    is_time = [number >= times for number in ids]
    ends = [n for n in range(1, len(ids)) if is_time[n - 1] and is_time[n]]
    closed = is_time[-2:] == [False, True]  # no words follow in this window
    if not ends:
        last = max((number for number in ids if number > times), default=slots + times)
        return [TimedPart(0, min(last - times, slots), ids)], slots
    ends += [len(ids)] if closed else []
    pairs = zip([0, *ends], ends, strict=False)
    place = [min(number - times, slots) for number in ids]  # a timestamp may be too late
    parts = [TimedPart(place[a], place[b - 1], ids[a:b]) for a, b in pairs]
    return parts, slots if closed else place[ends[-1] - 1] or slots


def loudness(samples: Tensor, rate: int) -> float:
    """Return the largest deviation of the samples (N,) of a tenth of a second."""
    frames = samples.unfold(0, size := min(rate // 10, len(samples)), max(1, size))
    return float(frames.std(1, correction=0).max()) if size else 0.0


def compression(text: str) -> float:
    """Return how many times as long a text is as what zlib makes of it."""
    data = text.encode()
    return len(data) / len(zlib.compress(data))
