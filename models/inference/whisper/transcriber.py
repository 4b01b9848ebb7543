"""Whisper in use: recordings in, texts with times and attention out.

CTranslate2 searches where it can; torch computes attention, which gives the times of words.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from models.base.errors import ModelError
from models.base.types import Hypothesis
from models.bundle import Bundle, read
from models.config import HOP
from models.inference.captioner import words as word_ranges
from models.inference.transcriber import (
    NamedRecording,
    SoundAttention,
    SpokenSegment,
    Transcriber,
    Transcript,
    Word,
)
from models.inference.whisper.engine import CTranslate2Whisper, TorchWhisper, token_starts
from models.inference.whisper.windows import (
    PER_SECOND,
    SoundWindow,
    Stream,
    TimedPart,
    WhisperEngine,
    WhisperTokens,
    Windows,
    window_features,
)
from models.sound.reading import read_blocks
from models.use_config import SearchConfig

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
                sound = Stream(read_blocks(open_recording(), rate, name))
                windows = reader.read(sound, search or self.search, self.language, self.to)
                segments = list[SpokenSegment]()
                for window in windows:
                    segments += self._segments(window, times or attention, attention)
                yield Transcript((*segments,), sound.place / rate)
            except ModelError as error:
                yield error

    def _segments(
        self, window: SoundWindow, times: bool, attention: bool
    ) -> Iterator[SpokenSegment]:
        """Yield the parts of a window."""
        every = [number for number in window.found.ids if number < self.tokens.times]
        heads, frames, starts, read = torch.zeros(1, 0, 1), torch.zeros(0), list[int](), 0
        if times and every:
            prompt = self.tokens.prompt(window.language, to=self.to)
            heads = self.attending.attention(window.samples, prompt, every)  # (H, T + 1, S)
            starts = token_starts(heads)
        if attention:
            frames = window_features(window.samples, self.config.audio)[0]
        for part in window.parts:
            segment = self._segment(window, part, starts[read:])
            end = read + len(segment.hypotheses[0].ids)
            if attention and end > read:
                shown = self._attention(segment, part, heads.mean(0)[read:end], frames)
                segment = segment._replace(attention=shown)
            read = end
            yield segment

    def _segment(
        self, window: SoundWindow, part: TimedPart, starts: Sequence[int]
    ) -> SpokenSegment:
        """Return a part of a window. starts: slots of its tokens and more, for times of words."""
        ids = tuple(number for number in part.ids if number < self.tokens.times)
        found, text = window.found, self.tokenizer.decode(ids).strip()
        pieces = self.tokenizer.pieces(ids)
        share = found.mean * (len(ids) + 1)  # of the window's log-probability
        output = Hypothesis(text, found.mean, share, pieces, ids, found.truncated)
        start, end, *borders = (
            window.start + min(max(slot, part.first), part.last) / PER_SECOND
            for slot in (part.first, part.last, *starts[: len(ids) + 1])
        )
        words = tuple(
            Word(text, borders[first], borders[last])
            for first, last in (self._ranges(ids, window.language) if borders else ())
            if (text := self.tokenizer.decode(ids[first:last]).strip())
        )
        return SpokenSegment(start, end, (output,), words, no_speech=found.no_speech)

    def _ranges(self, ids: Sequence[int], language: str) -> list[tuple[int, int]]:
        """Return the token range of each word; of characters in a language without spaces."""
        if (self.to or language) not in UNSPACED:
            return word_ranges(self.tokenizer.pieces(ids)) if ids else []
        starts = [0]
        for end in range(1, len(ids) + 1):
            if BROKEN not in self.tokenizer.decode(ids[starts[-1] : end]):
                starts.append(end)
        return list(itertools.pairwise(starts))

    def _attention(
        self, segment: SpokenSegment, part: TimedPart, weights: Tensor, frames: Tensor
    ) -> SoundAttention:
        """Return the weights (T, S) of a window's tokens over the slots of a part."""
        first = min(part.first, weights.shape[1] - 1)
        inside = weights[:, first : max(part.last, first + 1)]
        hop = HOP / 1000
        each = round(1 / PER_SECOND / hop)  # frames of a slot
        return SoundAttention(
            segment.hypotheses[0].tokens,
            inside / inside.sum(-1, keepdim=True).clamp_min(1e-12),
            1 / PER_SECOND,
            frames[each * first : each * (first + inside.shape[1])],
            hop,
        )
