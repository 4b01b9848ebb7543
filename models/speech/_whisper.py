"""Whisper in use: recordings of any length in, texts with times and attention out.

A window of 30 s ends at the last timestamp of its output, where the next one begins; the text of
those before it is its prompt. An output that repeats itself or is improbable is searched again, by
sampling at higher temperatures. A window without speech is left out.
Radford, Kim, Xu, Brockman, McLeavey, Sutskever 2022, sections 3.8 and 4.5

CTranslate2 searches where it can; torch is imported only where it cannot, and for attention.
"""

from __future__ import annotations

import copy
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from models.core.config import HOP
from models.core.errors import ConfigurationError, InputError, ModelError, unknown_name
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_translator import missing_library
from models.search.steering import PLAIN, Steering
from models.speech._whisper_engine import (
    CTranslate2Whisper,
    Decoded,
    WhisperTokens,
    window_features,
)
from models.speech._whisper_words import (
    PER_SECOND,
    SILENCE,
    UNSPACED,
    TimedPart,
    invented,
    with_words,
    words_of,
)
from models.speech.config import SpeechTransformerConfig
from models.speech.recordings import Floats, is_audible, silence
from models.speech.transcripts import (
    NamedRecording,
    SoundAttention,
    SpeechModel,
    SpokenSegment,
    Transcript,
    Word,
)
from models.storage.settings import read_settings, read_stored
from models.text.languages import known_language

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.speech._whisper_torch import TorchWhisper

TEMPERATURES = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
MAX_COMPRESSION = 2.4  # bytes of a text over those that zlib needs; above it repeats itself
MIN_LOG_PROB = -1.0  # mean of the tokens, end mark included
NO_SPEECH = 0.6  # probability from which an improbable output is no speech
# a text of a high temperature may be wrong, and a prompt would carry the fault on
TOO_RANDOM = 0.5  # temperature above which a text is no prompt for the next window
QUIET = 0.2  # loudness, over the largest so far, below which a part may be invented
SHORTEST = 0.2  # seconds of a window in which a word can be heard


class WhisperTranscriber(SpeechModel):
    """Whisper on a device; `languages` chooses those of recording and text."""

    language = to = ""
    config: SpeechTransformerConfig
    tokens: WhisperTokens
    engine: CTranslate2Whisper | TorchWhisper
    in_torch: Callable[[], TorchWhisper]  # read at the first call

    @classmethod
    def read(
        cls, folder: str | Path, *, device: str = "cpu", threads: int = 0, precision: str = "auto"
    ) -> Self:
        """Read a bundle folder; CTranslate2 searches on a processor, if its library is there.

        precision: of the search: fp32, int8 with CTranslate2, or auto for that of the weights.
        """
        folder, found = Path(folder), cls()
        settings = read_settings(folder)
        stored = read_stored(folder, settings)
        found.config, found.tokenizer, found.search = stored.model, stored.tokenizer, stored.search
        found.rate = stored.model.audio.rate
        found.tokens = tokens = WhisperTokens(stored.tokenizer, stored.tokenizer_config)
        reason = f"--device {device}"
        if device in ("auto", "cpu"):
            reason = missing_library(gpu=device == "auto")

        def read_in_torch() -> TorchWhisper:
            from models.speech._whisper_torch import TorchWhisper

            return TorchWhisper.read(folder, tokens, device if reason else "cpu", threads)

        found.in_torch = cache(read_in_torch)
        if reason and precision == "int8":
            raise ConfigurationError(f"transcribe.precision=int8 with {reason}", "fp32")
        if precision == "auto":
            precision = settings.get("weights", "fp32")
        found.engine = (
            found.in_torch()
            if reason
            else CTranslate2Whisper(
                folder, tokens, stored.model, precision=precision, threads=threads
            )
        )
        return found

    def languages(self, language: str = "", to: str = "") -> Self:
        """Return this model for a language, empty to detect it; to: en for translations."""
        other, known = copy.copy(self), self.tokens.codes or ("en",)
        given = "" if language == "auto" else language
        other.language, other.to = (code and known_language(code, known) for code in (given, to))
        for code in filter(None, (other.language, other.to)):
            if code not in known:
                raise unknown_name("language", code, known)
        if other.to not in ("", "en", other.language):
            raise ConfigurationError(
                f"--to {other.to} for a recording in {other.language or 'a language to detect'}",
                "en: Whisper translates to English alone",
                "transcribe it, then use `attn translate`",
            )
        return other

    def stream(
        self,
        recordings: Iterable[NamedRecording],
        *,
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
        steering: Steering = PLAIN,
    ) -> Iterator[Transcript | ModelError]:
        """Yield the transcript of each recording, or why there is none, in order.

        Raises InputError for steering, which Whisper's own rules of outputs leave no place for, and
        ConfigurationError for reranking.
        """
        if steering != PLAIN:
            raise InputError("a prefix or a look for Whisper", "a model that `attn train` made")
        other = self.with_search(search or self.search)
        if other.search.rerank:
            raise ConfigurationError(
                f"search.rerank={other.search.rerank} for Whisper, which finds one output",
                "a model that `attn train` made",
                "leave it out",
            )
        if other.search.top_p < 1:  # CTranslate2 has no such setting
            other.engine = self.in_torch()
        for name, open_recording in recordings:
            try:
                sound = Stream(self.blocks(open_recording(), name))
                segments = (*other.segments(sound, times=times or attention, attention=attention),)
                yield Transcript(segments, sound.place / self.rate)
            except ModelError as error:
                yield error

    def segments(
        self, sound: Stream, *, times: bool = False, attention: bool = False
    ) -> Iterator[SpokenSegment]:
        """Yield the parts of a recording that have speech, in order.

        times: True adds the times of words. attention: True adds attention.
        """
        rate, to, language = self.rate, self.to, self.language
        size = round(self.config.audio.padded * rate)
        before, last, loudest = list[int](), 0.0, 0.0
        while len(part := sound.ahead(size)) >= SHORTEST * rate:
            if silent := silence(part, rate):
                sound.skip(silent)
                continue
            start, memory = sound.place / rate, self.engine.encode(part)
            language = language or self.engine.language(memory)
            said = before[-(self.config.max_source // 2 - 1) :]
            prompt = self.tokens.prompt(language, to=to, timed=True, before=said)
            found = self._decoded(memory, prompt, f"{sound.place}")
            slots = max(1, len(part) * PER_SECOND // rate)
            parts, moved = divided(found.ids, self.tokens.times, slots)
            parts = [one for one in parts if is_audible(one.of(part, rate))]
            loudest = max(loudest, loudness(part, rate))
            quiet = [loudness(one.of(part, rate), rate) < QUIET * loudest for one in parts]
            # improbable text over silence is invented
            if is_silent(found):
                parts = []
            elif times or any(quiet):
                words = self._words(memory, parts, slots, language)
                parts = with_words(parts, words, last - start, moved / PER_SECOND)
                parts = [one.aloud(part, rate) for one in parts]
                parts, moved = self._spoken(parts, quiet, last - start, slots, moved)
            maps = self._maps(part, parts, slots, language) if attention else iter(())
            for one in parts:
                yield self._segment(one, found, start, times)._replace(attention=next(maps, None))
                last = start + one.end
                before += one.ids
            before = before if found.temperature <= TOO_RANDOM else []
            sound.skip(size if moved == slots else moved * rate // PER_SECOND)
        sound.skip(size)

    def _spoken(
        self, parts: list[TimedPart], quiet: list[bool], last: float, slots: int, moved: int
    ) -> tuple[list[TimedPart], int]:
        """Return the parts before one that nobody spoke, and the slot where to go on.

        quiet: True for parts that may be invented. last: end of the part before them. slots: of
        the sound in the window. moved: slot where to go on behind all parts.
        """
        end, whole = slots / PER_SECOND, self.config.audio.padded
        place = invented(parts, quiet, last, end, whole)
        if place is None:
            return parts, moved
        if end < whole and end - parts[place].end < SILENCE:
            return parts[:place], slots
        return parts[:place], min(moved, round(PER_SECOND * max(1.0, parts[place].start)))

    def _segment(self, part: TimedPart, found: Decoded, begin: float, times: bool) -> SpokenSegment:
        """Return a part of a window that begins at a second of the recording."""
        ids = tuple(self.tokens.of_text(part.ids))
        pieces, text = self.tokenizer.pieces(ids), self.tokenizer.decode(ids).strip()
        share = found.mean * (len(ids) + 1)  # of the window's log-probability
        output = Hypothesis(text, found.mean, share, pieces, ids)
        start, end = (round(begin + time, 3) for time in (part.start, part.end))
        words = tuple(
            Word(text, round(begin + word.start, 3), round(begin + word.end, 3), word.probability)
            for word in (part.words if times else ())
            if (text := word.text.strip())
        )
        return SpokenSegment(start, end, (output,), words, no_speech=found.no_speech)

    def _words(
        self, memory: Any, parts: list[TimedPart], slots: int, language: str
    ) -> Iterator[list[Word]]:
        """Yield the words of each part."""
        texts = [self.tokens.of_text(one.ids) for one in parts]
        ids, prompt = [*chain.from_iterable(texts)], self.tokens.prompt(language, to=self.to)
        places, shares = self.engine.align(memory, prompt, ids, slots) if ids else ([0], [])
        starts = [place / PER_SECOND for place in places]
        spaced = (self.to or language) not in UNSPACED
        for text, end in zip(texts, accumulate(map(len, texts)), strict=True):
            first = end - len(text)
            some, own = starts[first : end + 1], shares[first:end]
            yield words_of(self.tokenizer, text, some, own, spaced=spaced)

    def _maps(
        self, samples: Floats, parts: list[TimedPart], slots: int, language: str
    ) -> Iterator[SoundAttention | None]:
        """Yield the attention of each part that has tokens. slots: of the sound."""
        import torch

        model, texts = self.in_torch(), [self.tokens.of_text(part.ids) for part in parts]
        prompt, ids = self.tokens.prompt(language, to=self.to), [*chain.from_iterable(texts)]
        heads, _ = model.attention(model.encode(samples), prompt, ids, slots)  # (H, T + 1, S)
        frames = torch.from_numpy(window_features(samples, self.config.audio))
        each, end = round(1000 / HOP / PER_SECOND), 0  # frames of a slot
        for part, text in zip(parts, texts, strict=True):
            begin, end = end, end + len(text)
            first = min(int(part.start * PER_SECOND), slots - 1)
            last = max(int(part.end * PER_SECOND), first + 1)
            inside = heads.mean(0)[begin:end, first:last]  # (T, S)
            found = SoundAttention(
                self.tokenizer.pieces(text),
                inside / inside.sum(-1, keepdim=True).clamp_min(1e-12),
                1 / PER_SECOND,
                frames[each * first : each * (first + inside.shape[1])],
                HOP / 1000,
            )
            yield found if text else None

    def _decoded(self, memory: Any, prompt: Sequence[int], key: str) -> Decoded:
        """Return the first output that neither repeats itself nor is improbable, or the best."""
        tried = list[Decoded]()
        for temperature in TEMPERATURES:
            sampling = replace(self.search, method="sample", temperature=temperature)
            search = sampling if temperature else self.search
            found = self.engine.decode(memory, prompt, search, f"{key} {temperature}")
            tried.append(found._replace(temperature=temperature))
            if is_silent(found) or (found.mean >= MIN_LOG_PROB and not self._repeats(found)):
                return tried[-1]
        known = [one for one in tried if not self._repeats(one)] or tried
        return max(known, key=lambda one: one.mean)._replace(temperature=TEMPERATURES[-1])

    def _repeats(self, found: Decoded) -> bool:
        """Return True if zlib makes the text of an output much shorter."""
        data = self.tokenizer.decode(self.tokens.of_text(found.ids)).encode()
        return len(data) > MAX_COMPRESSION * len(zlib.compress(data))


class Stream:
    """Samples of which so many are held as are asked for."""

    def __init__(self, blocks: Iterable[Floats]) -> None:
        self.blocks, self.held = iter(blocks), np.zeros(0, np.float32)
        self.place = 0  # samples that were skipped

    def ahead(self, count: int) -> Floats:
        """Return the next samples (N,), at most `count`, and keep them."""
        while len(self.held) < count and (block := next(self.blocks, None)) is not None:
            self.held = np.concatenate([self.held, block])
        return self.held[:count]

    def skip(self, count: int) -> None:
        """Leave out the next samples."""
        self.place += min(count, len(self.ahead(count)))
        self.held = self.held[count:]


def is_silent(found: Decoded) -> bool:
    """Return True if there probably is no speech, and the output is improbable."""
    return found.no_speech > NO_SPEECH and found.mean <= MIN_LOG_PROB


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


def loudness(samples: Floats, rate: int) -> float:
    """Return the largest deviation of the samples (N,) of a tenth of a second."""
    size = min(rate // 10, len(samples))
    frames = samples[: len(samples) // max(1, size) * size].reshape(-1, max(1, size))
    return float(frames.std(1).max(initial=0))
