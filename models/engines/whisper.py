"""Whisper in use: recordings in, texts with times and attention out.

CTranslate2 searches where it can; torch computes attention, which gives the times of words.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from models.core.config import HOP
from models.core.errors import ModelError
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.transcriber import (
    NamedRecording,
    SoundAttention,
    SpokenSegment,
    Transcriber,
    Transcript,
    Word,
)
from models.engines.whisper_engine import CTranslate2Whisper, TorchWhisper
from models.engines.whisper_windows import (
    SoundWindow,
    Stream,
    WhisperEngine,
    WhisperTokens,
    Windows,
    window_features,
)
from models.engines.whisper_words import PER_SECOND
from models.networks.bundle import Bundle, read

if TYPE_CHECKING:
    from typing_extensions import Self

UNSPACED = ("zh", "ja", "th", "lo", "my", "yue", "km", "bo")  # languages without spaces
BROKEN = "\ufffd"  # in a text of some bytes of a character


class WhisperTranscriber(Transcriber):
    """Whisper on a device; `languages` chooses those of recording and text."""

    language = to = ""

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.tokens = WhisperTokens(bundle.tokenizer, bundle.tokenizer_config)
        self.attending = TorchWhisper(self.model, self.tokens, self.device)
        self.engine: WhisperEngine = self.attending

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Self:
        """Read a bundle folder; on a processor it is searched by CTranslate2 if that can."""
        found = cls(read(Path(folder)), device)
        if found.device.type == "cpu":
            with contextlib.suppress(ImportError, OSError):  # the library is missing
                found.engine = CTranslate2Whisper(Path(folder), found.attending)
        return found

    def languages(self, language: str = "", to: str = "") -> Self:
        """Return this model for recordings in a language, empty to detect it, and texts in another.

        to: en for translations. Raises ModelError for a language that it does not know.
        """
        other = copy.copy(self)
        other.language = "" if language in ("", "auto") else self.tokens.language(language)
        other.to = self.tokens.target(other.language, to)
        return other

    def stream(
        self,
        recordings: Iterable[NamedRecording],
        *,
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
    ) -> Iterator[Transcript | ModelError]:
        """Yield the transcript of each recording, or why there is none, in order."""
        rate, reader = self.config.audio.rate, Windows(self.engine, self.tokens, self.config)
        for name, open_recording in recordings:
            try:
                sound, timed = Stream(self.blocks(open_recording(), name)), times or attention
                windows = reader.read(
                    sound, search or self.search, self.language, self.to, times=timed
                )
                segments = list[SpokenSegment]()
                for window in windows:
                    segments += self._segments(window, timed, attention)
                yield Transcript((*segments,), sound.place / rate)
            except ModelError as error:
                yield error

    def _segments(
        self, window: SoundWindow, times: bool, attention: bool
    ) -> Iterator[SpokenSegment]:
        """Yield the parts of a window."""
        rows = self._attention(window) if attention else iter(())
        for part in window.parts:
            ids = tuple(number for number in part.ids if number < self.tokens.times)
            found, text = window.found, self.tokenizer.decode(ids).strip()
            share = found.mean * (len(ids) + 1)  # of the window's log-probability
            pieces = self.tokenizer.pieces(ids)
            output = Hypothesis(text, found.mean, share, pieces, ids, found.truncated)
            start, end = (round(window.start + time, 3) for time in part.times)
            words = tuple(
                Word(text, *(round(window.start + time, 3) for time in (word.start, word.end)))
                for word in (part.words if times else ())
                if (text := word.text.strip())
            )
            shown = next(rows, None)
            yield SpokenSegment(start, end, (output,), words, shown, found.no_speech)

    def _attention(self, window: SoundWindow) -> Iterator[SoundAttention | None]:
        """Yield the attention of each part of a window that has tokens."""
        ids = [n for part in window.parts for n in part.ids if n < self.tokens.times]
        prompt = self.tokens.prompt(window.language, to=self.to)
        slots = max(1, len(window.samples) * PER_SECOND // self.config.audio.rate)
        memory = self.attending.encode(window.samples)
        heads, _ = self.attending.attention(memory, prompt, ids, slots)  # (H, T + 1, S)
        frames, end = window_features(window.samples, self.config.audio)[0], 0
        hop = HOP / 1000
        each = round(1 / PER_SECOND / hop)  # frames of a slot
        for part in window.parts:
            text = [number for number in part.ids if number < self.tokens.times]
            begin, end = end, end + len(text)
            first = min(int(part.first), slots - 1)
            inside = heads.mean(0)[begin:end, first : max(int(part.last), first + 1)]  # (T, S)
            yield (
                text
                and SoundAttention(
                    self.tokenizer.pieces(text),
                    inside / inside.sum(-1, keepdim=True).clamp_min(1e-12),
                    1 / PER_SECOND,
                    frames[each * first : each * (first + inside.shape[1])],
                    hop,
                )
                or None
            )
