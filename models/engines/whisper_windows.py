"""Recordings of any length by Whisper: windows of 30 s, each with the text of those before it.

A window ends at the last timestamp of its output, where the next one begins. An output that repeats
itself or is improbable is searched again, by sampling at higher temperatures. A window without
speech is left out. Radford et al. 2022, sections 3.8 and 4.5.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import accumulate, chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from models.core.config import ModelConfig
from models.core.use_config import SearchConfig
from models.engines.transcripts import Word
from models.engines.whisper_engine import Decoded, WhisperEngine, WhisperPrompt, WhisperTokens
from models.engines.whisper_words import (
    PER_SECOND,
    SILENCE,
    UNSPACED,
    TimedPart,
    invented,
    with_words,
    words_of,
)
from models.signals.recordings import Samples, is_audible, silence

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MOST_COMPRESSED = 2.4  # bytes of a text over those that zlib needs; above it repeats itself
LEAST_LOG_PROB = -1.0  # mean of the tokens, end mark included
NO_SPEECH = 0.6  # probability from which an improbable output is no speech
TOO_RANDOM = 0.5  # temperature above which a text is no prompt for the next window
QUIET = 0.2  # loudness, over the largest so far, below which a part may be invented
SHORTEST = 0.2  # seconds of a window in which a word can be heard


class SoundWindow(NamedTuple):
    """A window with its output."""

    start: float  # seconds from the start of the recording
    samples: Samples  # (N,)
    language: str
    slots: int  # of its sound
    found: Decoded
    parts: list[TimedPart]


class Stream:
    """Samples of which so many are held as are asked for."""

    def __init__(self, blocks: Iterable[Samples]) -> None:
        self.blocks, self.held = iter(blocks), np.zeros(0, np.float32)
        self.place = 0  # samples that were skipped

    def ahead(self, count: int) -> Samples:
        """Return the next samples (N,), at most `count`, and keep them."""
        while len(self.held) < count and (block := next(self.blocks, None)) is not None:
            self.held = np.concatenate([self.held, block])
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
        while len(part := stream.ahead(self.size)) >= SHORTEST * self.rate:
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
            loudest = max(loudest, loudness(part, self.rate))
            heard = (loudness(one.of(part, self.rate), self.rate) for one in parts)
            quiet = [each < QUIET * loudest for each in heard]
            is_silent = found.no_speech > NO_SPEECH and found.mean <= LEAST_LOG_PROB
            if not is_silent and (times or any(quiet)):
                words = self._words(memory, parts, slots, language, to)
                parts = with_words(parts, words, last - start, moved / PER_SECOND)
                end, whole = len(part) / self.rate, self.size / self.rate
                place = invented(parts, quiet, last - start, end, whole)
                if place is not None:
                    moved = min(moved, round(PER_SECOND * max(1.0, parts[place].start)))
                    if end < whole and end - parts[place].end < SILENCE:
                        moved = slots
                parts = parts[:place]
            stream.skip(self.size if moved == slots else moved * self.rate // PER_SECOND)
            if is_silent or not parts:
                continue
            yield SoundWindow(start, part, language, slots, found, parts)
            last = start + parts[-1].end
            before += chain.from_iterable(one.ids for one in parts)
            before = before if found.temperature <= TOO_RANDOM else []
        stream.skip(self.size)

    def _words(
        self, memory: Any, parts: list[TimedPart], slots: int, language: str, to: str
    ) -> list[list[Word]]:
        """Return the words of each part."""
        texts = [self.tokens.of_text(one.ids) for one in parts]
        if not (ids := [*chain.from_iterable(texts)]):
            return [[] for _ in parts]
        prompt = self.tokens.prompt(language, to=to)
        places, shares = self.engine.align(memory, prompt, ids, slots)
        starts, spaced = [place / PER_SECOND for place in places], (to or language) not in UNSPACED
        return [
            words_of(
                self.tokens.tokenizer,
                text,
                starts[end - len(text) : end + 1],
                shares[end - len(text) : end],
                spaced=spaced,
            )
            for text, end in zip(texts, accumulate(map(len, texts)), strict=True)
        ]

    def detected(self, memory: Any) -> str:
        """Return the most probable language of a window."""
        if not self.tokens.codes:
            return "en"
        return max(zip(self.engine.languages(memory), self.tokens.codes, strict=True))[1]

    def _decoded(
        self, memory: Any, prompt: WhisperPrompt, search: SearchConfig, key: str
    ) -> Decoded:
        """Return the first output that neither repeats itself nor is improbable, or the best."""
        tried = list[Decoded]()
        for temperature in TEMPERATURES:
            sampling = replace(search, method="sample", temperature=temperature)
            given = sampling if temperature else search
            found = self.engine.decode(memory, prompt, given, f"{key} {temperature}")
            tried.append(found._replace(temperature=temperature))
            is_silent = found.no_speech > NO_SPEECH and found.mean <= LEAST_LOG_PROB
            if is_silent or (found.mean >= LEAST_LOG_PROB and not self._repeats(found)):
                return tried[-1]
        found = max([one for one in tried if not self._repeats(one)] or tried, key=lambda o: o.mean)
        return found._replace(temperature=TEMPERATURES[-1])

    def _repeats(self, found: Decoded) -> bool:
        """Return True if zlib makes the text of an output much shorter."""
        data = self.tokens.tokenizer.decode(self.tokens.of_text(found.ids)).encode()
        return len(data) > MOST_COMPRESSED * len(zlib.compress(data))


def divided(ids: tuple[int, ...], times: int, slots: int) -> tuple[list[TimedPart], int]:
    """Divide an output where two timestamps meet; also return the slot of the next window.

    times: the first timestamp. slots: of the sound in the window.
    """
    is_time = [number >= times for number in ids]
    ends = [n for n in range(1, len(ids)) if is_time[n - 1] and is_time[n]]
    closed = is_time[-2:] == [False, True]  # no words follow in this window
    if not ends:
        last = max((number for number in ids if number > times), default=slots + times)
        return [TimedPart(0, min(last - times, slots) / PER_SECOND, ids)], slots
    ends += [len(ids)] if closed else []
    place = [min(number - times, slots) for number in ids]  # a timestamp may be too late
    parts = [
        TimedPart(place[a] / PER_SECOND, place[b - 1] / PER_SECOND, ids[a:b])
        for a, b in pairwise([0, *ends])
    ]
    return parts, slots if closed else place[ends[-1] - 1] or slots


def loudness(samples: Samples, rate: int) -> float:
    """Return the largest deviation of the samples (N,) of a tenth of a second."""
    size = min(rate // 10, len(samples))
    frames = samples[: len(samples) // max(1, size) * size].reshape(-1, max(1, size))
    return float(frames.std(1).max(initial=0))
