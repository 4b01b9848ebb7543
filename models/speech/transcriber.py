"""Models of speech in torch: recordings in, texts with times and attention out."""

from __future__ import annotations

import itertools
import math
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from models.core.config import HOP
from models.core.errors import ConfigurationError, InputError, ModelError
from models.core.types import Hypothesis, Memory
from models.core.use_config import SearchConfig
from models.engines.captioner import words as word_ranges
from models.engines.steering import looked_at, steered_search
from models.engines.trained import TorchModel
from models.search.batching import length_batches, pad, teacher_forcing_batch, windows
from models.search.hypotheses import Finished, length_limit
from models.search.steering import PLAIN, Steering
from models.speech._encoder import SoundEncoder
from models.speech.features import log_mel, padded_frames
from models.speech.recordings import Floats, Recording, SoundPiece, divided
from models.speech.transcripts import (
    NamedRecording,
    SoundAttention,
    SpeechModel,
    SpokenSegment,
    Transcript,
    Word,
)
from models.storage.archive import read_about
from models.storage.settings import read_settings
from models.text.languages import known_language
from models.text.tokenizer import END

if TYPE_CHECKING:
    from typing_extensions import Self

    from models.networks.bundle import Bundle

PIECE = 20.0  # seconds of sound that are computed as one; longer recordings are divided
FORGIVEN = 3  # see `surprise`
MOSTLY = 0.5  # share of the segments of a recording that must be words that the model knows
BATCH_PIECES = 16  # pieces computed at a time
BATCH_SLOTS = 4096  # slots computed at a time, padding included


class Transcriber(TorchModel, SpeechModel):
    """A model of speech in torch, which reads pieces of recordings in batches."""

    spoken: tuple[str, ...] = ()  # languages that its card names
    surprise = 0.0  # nats per token above which a segment is none of the words that it knows

    def __init__(self, bundle: Bundle, device: str = "cpu") -> None:
        super().__init__(bundle, device)
        self.rate = self.config.audio.rate

    @classmethod
    def read(
        cls, folder: str | Path, *, device: str = "cpu", threads: int = 0, precision: str = "auto"
    ) -> Self:
        """Read the model of a bundle folder; a ModelError if it reads another kind of input."""
        if precision == "int8":
            raise ConfigurationError("transcribe.precision=int8", "fp32, or a model of Whisper")
        if threads:
            torch.set_num_threads(threads)
        found = super().read(folder, device=device)
        about = read_about(read_settings(Path(folder)))
        found.spoken, found.knows, found.surprise = about.languages, about.knows, about.surprise
        return found

    @property
    def encoder(self) -> SoundEncoder:
        """The encoder of sound."""
        return cast(SoundEncoder, self.model.encoder)  # the family reads sound

    def pieces(self, recording: Recording, name: str = "") -> Generator[SoundPiece, None, float]:
        """Yield the pieces of a recording, for `heard`, while it is read; return its seconds."""
        return divided(self.blocks(recording, name), self.rate, self.longest_piece)

    @property
    def longest_piece(self) -> float:
        """Seconds of the longest sound that is computed as one: at most PIECE.

        A model reads no longer sounds than it was trained on, which search.split_above states.
        """
        most = self.search.split_above
        if most in (0, SearchConfig.split_above):  # not stated
            return PIECE
        # ten minutes of joined tones, by a model of recordings of two seconds: word error rate
        # 12.0, and 93.1 with pieces of 20 s
        return min(PIECE, most * self.encoder.slot_seconds)

    def stream(
        self,
        recordings: Iterable[NamedRecording],
        *,
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
        steering: Steering = PLAIN,
    ) -> Iterator[Transcript | ModelError]:
        """Yield transcripts; pieces of consecutive recordings are computed together.

        steering: of each recording, with milliseconds; its prefix is that of the first piece.
        """

        def parts() -> Iterator[SoundPiece | ModelError | tuple[str, float]]:
            for name, open_recording in recordings:
                try:
                    seconds = yield from self.pieces(open_recording(), name)
                    yield name, seconds  # its end
                except ModelError as error:
                    yield error

        segments: list[SpokenSegment] = []
        for group in windows(parts(), BATCH_PIECES):
            pieces = [each for each in group if isinstance(each, SoundPiece)]
            found = self.heard(
                pieces, search=search, times=times, attention=attention, steering=steering
            )
            heard = iter(found)
            for each in group:
                if isinstance(each, SoundPiece):
                    segments.append(next(heard))
                    continue
                yield each if isinstance(each, ModelError) else self.known(segments, *each)
                segments = []

    def known(
        self, segments: list[SpokenSegment], name: str, seconds: float
    ) -> Transcript | ModelError:
        """Return a transcript of the segments that are probably words that the model knows.

        Return an error if only a few are: a part of other speech often sounds like a word.
        """
        if not self.surprise or self.doubtful:
            return Transcript((*segments,), seconds)
        known = [each for each in segments if surprise(each.hypotheses[0]) <= self.surprise]
        # a part of other speech often sounds like a word: 97 % of sentences of other speech are
        # refused, and 0.7 % of joined digits
        if len(known) < MOSTLY * len(segments):
            place = f"{name}: " if name else ""
            return InputError(
                f"{place}probably other speech, noise or music, which this model cannot write",
                self.knows,
                "install a model of any speech: `attn models add openai/whisper-tiny`",
            )
        return Transcript((*known,), seconds, len(segments) - len(known))

    def languages(self, language: str = "", to: str = "") -> Self:
        """Return this model, which knows the languages that its card names."""
        for given in filter(None, (language, to)):
            if given != "auto" and known_language(given, self.spoken) not in self.spoken:
                expected = " or ".join([*self.spoken, "no language"])
                raise ConfigurationError(f"this model does not know the language {given}", expected)
        return self

    @torch.inference_mode()
    def heard(
        self,
        pieces: Sequence[SoundPiece],
        *,
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
        steering: Steering = PLAIN,
    ) -> list[SpokenSegment]:
        """Return the segments of pieces of sound, of one recording or of several."""
        features = [log_mel(piece.samples, self.config.audio) for piece in pieces]
        steered = [self._steered(piece, steering) for piece in pieces]
        outputs = self.outputs(features, search, steered)
        segments = [
            SpokenSegment(piece.start, piece.start + len(piece.samples) / self.rate, found)
            for piece, found in zip(pieces, outputs, strict=True)
        ]
        if not (times or attention):
            return segments
        return [
            self._timed(segment, spectrogram, one, keep=attention)
            for segment, spectrogram, one in zip(segments, features, steered, strict=True)
        ]

    def _steered(self, piece: SoundPiece, steering: Steering) -> Steering:
        """Return what steers a piece of a recording, with slots of it."""
        if steering == PLAIN:
            return PLAIN
        looks, slot = [], self.encoder.slot_seconds
        slots = math.ceil(len(piece.samples) / self.rate / slot)
        for look in steering.looks:
            times = [[at / 1000 - piece.start for at in place] for place in look.places]
            near = [(math.floor(a / slot), math.ceil(b / slot)) for a, b in times]
            if places := tuple((max(a, 0), b) for a, b in near if a < slots and b > 0):
                looks.append(look._replace(places=places))
        return Steering(steering.prefix if piece.start == 0 else "", tuple(looks))

    def outputs(
        self,
        features: Sequence[Any],
        config: SearchConfig | None = None,
        steering: Sequence[Steering] = (),
    ) -> list[tuple[Hypothesis, ...]]:
        """Return the outputs for the features (F, bands) of each sound, best first.

        steering: of each sound, with slots; the default is none.
        """
        sounds = [*zip(features, steering or [PLAIN] * len(features), strict=True)]
        found: dict[int, tuple[Hypothesis, ...]] = {}
        slots = [self.encoder.slots(len(each)) for each in features]
        for numbers in length_batches(slots, max_tokens=BATCH_SLOTS):
            some = [sounds[number] for number in numbers]
            outputs = self._lists(self._search, some, config or self.search)
            found.update(zip(numbers, outputs, strict=True))
        return [found[number] for number in range(len(features))]

    @torch.inference_mode()
    def _search(
        self, sounds: Sequence[tuple[Any, Steering]], config: SearchConfig
    ) -> list[list[Finished]]:
        """Return the outputs of sounds that are computed together."""
        features, steering = zip(*sounds, strict=True)
        limits = [length_limit(self.encoder.slots(len(each)), config) for each in features]
        keys = [""] * len(features)  # they seed random numbers
        if config.method == "sample":
            # of the sound itself, so that a sample depends neither on its place nor on the batch
            keys = [f"{zlib.crc32(np.asarray(each).tobytes()):08x}" for each in features]
        return steered_search(self, self.memory(features), limits, keys, config, steering)

    def memory(self, features: Sequence[Any]) -> Memory:
        """Return the memory of the features (F, bands) of sounds."""
        source, mask = padded_frames(features)
        return self.model.encode(source.to(self.device), mask.to(self.device))

    def _timed(
        self, segment: SpokenSegment, spectrogram: Floats, steering: Steering, *, keep: bool
    ) -> SpokenSegment:
        """Return a segment with the times of its words, and its attention if it is kept.

        The weights come from teacher forcing of the output.
        """
        best = segment.hypotheses[0]
        if not best.ids or not self.model.decoder.attends:
            return segment
        target = pad([[*best.ids, END]], self.device)
        memory = looked_at(self, self.memory([spectrogram]), [steering], target[0])
        batch = teacher_forcing_batch(memory.values, memory.mask, *target)
        forced = self.model.teacher_force(batch, memory=memory, want_weights=True)
        assert forced.weights is not None
        weights = forced.weights[0, :-1].float().cpu()  # (T, S)
        attention = SoundAttention(
            best.tokens,
            weights,
            self.encoder.slot_seconds,
            torch.from_numpy(spectrogram),
            HOP / 1000,
        )
        ranges = word_ranges(best.tokens)
        texts = [self.tokenizer.decode(best.ids[start:end]).strip() for start, end in ranges]
        spans = word_spans(weights, ranges, attention.slot_seconds, segment.end - segment.start)
        words = tuple(
            Word(text, segment.start + start, segment.start + end)
            for text, (start, end) in zip(texts, spans, strict=True)
            if text
        )
        return segment._replace(words=words, attention=attention if keep else None)


def surprise(output: Hypothesis) -> float:
    """Return -log p of an output in nats per token; FORGIVEN tokens are added without surprise.

    So one doubtful word alone is no proof that the speech is other speech.
    """
    return -output.log_prob / (len(output.ids) + 1 + FORGIVEN)


def word_spans(
    weights: Tensor, ranges: Sequence[tuple[int, int]], slot: float, seconds: float
) -> list[tuple[float, float]]:
    """Return the start and end of each word in seconds, in order and without overlap.

    weights (T, S) of tokens; ranges: tokens of each word; slot: its seconds; seconds: of the sound.
    A word covers the slots around its highest weight that have at least half of that weight, the
    weights of its tokens added. Where words overlap, the border is half-way between their peaks.
    """
    peaks: list[int] = []
    spans: list[list[float]] = []
    for start, end in ranges:
        row = weights[start:end].sum(0)  # (S,)
        peak = max(int(row.argmax()), peaks[-1] if peaks else 0)  # no word before the last one
        low = row < row[peak] / 2
        before, after = low[:peak].nonzero(), low[peak:].nonzero()
        first = int(before[-1]) + 1 if len(before) else 0
        last = peak + int(after[0]) if len(after) else len(row)
        peaks.append(peak)
        spans.append([first * slot, min(last * slot, seconds)])
    for (one, other), (a, b) in zip(
        itertools.pairwise(spans), itertools.pairwise(peaks), strict=True
    ):
        if one[1] > other[0]:
            one[1] = other[0] = min(seconds, (a + b + 1) / 2 * slot)
    return [(min(start, end), end) for start, end in spans]
