"""Whisper in use: recordings in, texts with times and attention out.

CTranslate2 searches where it can; torch is imported only where it cannot, and for attention.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from models.core.config import HOP
from models.core.errors import ConfigurationError, ModelError
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.ctranslate2_translator import missing_library
from models.engines.transcripts import (
    NamedRecording,
    SoundAttention,
    SpeechModel,
    SpokenSegment,
    Transcript,
)
from models.engines.whisper_engine import (
    CTranslate2Whisper,
    WhisperEngine,
    WhisperTokens,
    window_features,
)
from models.engines.whisper_windows import SoundWindow, Stream, Windows
from models.engines.whisper_words import PER_SECOND
from models.storage.settings import read_settings, read_stored

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.engines.whisper_torch import TorchWhisper


class WhisperTranscriber(SpeechModel):
    """Whisper on a device; `languages` chooses those of recording and text."""

    language = to = ""
    tokens: WhisperTokens
    engine: WhisperEngine
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
        found.tokens = tokens = WhisperTokens(stored.tokenizer, stored.tokenizer_config)

        def read_in_torch() -> TorchWhisper:
            from models.engines.whisper_torch import TorchWhisper

            return TorchWhisper.read(folder, tokens, device if reason else "cpu", threads)

        found.in_torch, reason = cache(read_in_torch), f"--device {device}"
        if device in ("auto", "cpu"):
            reason = missing_library(gpu=device == "auto")
        if reason and precision == "int8":
            raise ConfigurationError(f"transcribe.precision=int8 with {reason}", "fp32")
        if precision == "auto":
            precision = "int8" if settings.get("weights") == "int8" else "fp32"
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
        search, timed = search or self.search, times or attention
        engine = self.in_torch() if search.top_p < 1 else self.engine  # CTranslate2 has no top_p
        windows = Windows(engine, self.tokens, self.config)
        for name, open_recording in recordings:
            try:
                sound = Stream(self.blocks(open_recording(), name))
                segments = [
                    segment
                    for window in windows.read(sound, search, self.language, self.to, times=timed)
                    for segment in self._segments(window, timed, attention)
                ]
                yield Transcript((*segments,), sound.place / self.config.audio.rate)
            except ModelError as error:
                yield error

    def _segments(
        self, window: SoundWindow, times: bool, attention: bool
    ) -> Iterator[SpokenSegment]:
        """Yield the parts of a window."""
        rows = self._attention(window) if attention else iter(())
        for part in window.parts:
            ids, found = tuple(self.tokens.of_text(part.ids)), window.found
            pieces, text = self.tokenizer.pieces(ids), self.tokenizer.decode(ids).strip()
            share = found.mean * (len(ids) + 1)  # of the window's log-probability
            output = Hypothesis(text, found.mean, share, pieces, ids, found.truncated)
            start, end = (round(window.start + time, 3) for time in (part.start, part.end))
            words = tuple(
                each._replace(
                    text=each.text.strip(),
                    start=round(window.start + each.start, 3),
                    end=round(window.start + each.end, 3),
                )
                for each in (part.words if times else ())
                if each.text.strip()
            )
            shown = next(rows, None)
            yield SpokenSegment(start, end, (output,), words, shown, found.no_speech)

    def _attention(self, window: SoundWindow) -> Iterator[SoundAttention | None]:
        """Yield the attention of each part of a window that has tokens."""
        import torch

        model, texts = self.in_torch(), [self.tokens.of_text(part.ids) for part in window.parts]
        prompt = self.tokens.prompt(window.language, to=self.to)
        memory, ids = model.encode(window.samples), sum(texts, [])
        heads, _ = model.attention(memory, prompt, ids, window.slots)  # (H, T + 1, S)
        frames = torch.from_numpy(window_features(window.samples, self.config.audio))
        each, end = round(1000 / HOP / PER_SECOND), 0  # frames of a slot
        for part, text in zip(window.parts, texts, strict=True):
            begin, end = end, end + len(text)
            first = min(int(part.start * PER_SECOND), window.slots - 1)
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
