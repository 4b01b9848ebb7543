"""A trained model of speech in use: recordings in, texts with times and attention out."""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from torch import Tensor

from models.core.config import HOP
from models.core.errors import ConfigurationError, ModelError
from models.core.types import Hypothesis, Memory
from models.core.use_config import SearchConfig
from models.engines.captioner import words as word_ranges
from models.engines.trained import TorchModel
from models.networks.sound_encoder import SoundEncoder
from models.search.batching import length_batches, pad, teacher_forcing_batch, windows
from models.search.beam import search
from models.search.hypotheses import Finished, length_limit
from models.signals.recordings import Recording, SoundPiece, divided, read_blocks, recording_of
from models.signals.sound_features import log_mel, padded_frames
from models.signals.voice import spoken
from models.storage.archive import read_about
from models.storage.settings import read_settings
from models.text.languages import known_language
from models.text.tokenizer import END

if TYPE_CHECKING:
    from typing_extensions import Self

WHISPER = "models.engines.whisper:WhisperTranscriber"
PIECE = 20.0  # seconds of sound that are computed as one; longer recordings are divided
BATCH_PIECES = 16  # pieces computed at a time
BATCH_SLOTS = 4096  # slots computed at a time, padding included


class Word(NamedTuple):
    """A word and where it is heard."""

    text: str
    start: float  # in seconds from the start of the recording
    end: float


class SoundAttention(NamedTuple):
    """The attention of each token of a segment to stretches of sound."""

    tokens: tuple[str, ...]  # T, of the best hypothesis, the end mark left out
    weights: Tensor  # (T, S)
    slot_seconds: float  # duration of a slot: slot s begins at s times this in the segment
    spectrogram: Tensor  # (F, bands) log energies
    frame_seconds: float  # from one frame of the spectrogram to the next


class SpokenSegment(NamedTuple):
    """A part of a recording with its text: all of it, or what lies between two silences."""

    start: float  # in seconds from the start of the recording
    end: float
    hypotheses: tuple[Hypothesis, ...]  # best first
    words: tuple[Word, ...] = ()  # of the best one, if times or attention were asked for
    attention: SoundAttention | None = None  # if it was asked for
    no_speech: float = 0.0  # probability that nobody speaks, of a model that estimates it

    @property
    def text(self) -> str:
        """Text of the best hypothesis."""
        return self.hypotheses[0].text


class Transcript(NamedTuple):
    """The text of a recording, in segments.

    A picture of segment `each` draws `each.attention`: the spectrogram (F, bands), below it the
    weights (T, S), one row per token. Column s covers the seconds from s to s + 1 times
    `slot_seconds`, and frame f those from f times `frame_seconds`, both counted from `each.start`.
    """

    segments: tuple[SpokenSegment, ...]
    seconds: float  # length of the recording

    @property
    def text(self) -> str:
        """The texts of the segments, with spaces between them."""
        return " ".join(filter(None, (segment.text for segment in self.segments)))

    @property
    def score(self) -> float:
        """Mean log-probability of a token, end marks included; 0 of a text without segments."""
        best = [segment.hypotheses[0] for segment in self.segments]
        return sum(one.log_prob for one in best) / max(1, sum(len(one.ids) + 1 for one in best))

    @property
    def words(self) -> tuple[Word, ...]:
        """The words of all segments."""
        return tuple(itertools.chain.from_iterable(each.words for each in self.segments))


NamedRecording = tuple[str, Callable[[], Recording]]  # for messages; opens the recording


class Transcriber(TorchModel):
    """A model of speech on a device. Its output for a recording does not depend on the batch."""

    source = "audio"
    spoken: tuple[str, ...] = ()  # languages that its card names
    vad = False  # leave out what has no speech

    @classmethod
    def read(cls, folder: str | Path, *, device: str = "cpu") -> Self:
        """Read the model of a bundle folder; one that reads windows of a fixed length is Whisper.

        Raises ModelError if it reads another kind of input.
        """
        settings = read_settings(Path(folder))
        if cls is Transcriber and settings["model"].get("audio", {}).get("padded"):
            whisper: Self = resolve_name(WHISPER).read(folder, device=device)
            return whisper
        found = super().read(folder, device=device)
        found.spoken = read_about(settings).languages
        return found

    @property
    def encoder(self) -> SoundEncoder:
        """The encoder of sound."""
        return cast(SoundEncoder, self.model.encoder)  # the family reads sound

    def transcribe(
        self,
        recording: Any,
        *,
        rate: int = 0,
        name: str = "",
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
    ) -> Transcript:
        """Return the text of a recording: a path, a file or its bytes, or an array of samples.

        rate: samples a second of an array, (N,), (N, channels) or (channels, N). name: for
        messages. search: settings; the default is `self.search`. times: True adds the times of
        words. attention: True adds times and attention. Raises ModelError for a recording that
        cannot be used; see models.signals.recordings.
        """
        opened = recording_of(recording, rate)
        alone = [(name, lambda: opened)]
        [found] = self.stream(alone, search=search, times=times, attention=attention)
        if isinstance(found, ModelError):
            raise found
        return found

    def pieces(self, recording: Recording, name: str = "") -> Generator[SoundPiece, None, float]:
        """Yield the pieces of a recording, for `heard`, while it is read; return its seconds."""
        return divided(self.blocks(recording, name), self.config.audio.rate, self.longest_piece)

    def blocks(self, recording: Recording, name: str = "") -> Iterator[Tensor]:
        """Yield the samples of a recording, with zeros for what is left out; see `read_blocks`."""
        found, rate = read_blocks(recording, self.config.audio.rate, name), self.config.audio.rate
        return spoken(found, rate, name) if self.vad else found

    @property
    def longest_piece(self) -> float:
        """Seconds of the longest sound that is computed as one: at most PIECE.

        A model reads no longer sounds than it was trained on, which search.split_above states.
        """
        most = self.search.split_above
        if most in (0, SearchConfig.split_above):  # not stated
            return PIECE
        return min(PIECE, most * self.encoder.slot_seconds)

    def stream(
        self,
        recordings: Iterable[NamedRecording],
        *,
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
    ) -> Iterator[Transcript | ModelError]:
        """Yield the transcript of each recording, or why there is none, in order.

        Pieces of consecutive recordings are computed together; few are in memory at a time.
        """

        def parts() -> Iterator[SoundPiece | ModelError | float]:
            for name, open_recording in recordings:
                try:
                    seconds = yield from self.pieces(open_recording(), name)
                    yield seconds  # its end
                except ModelError as error:
                    yield error

        segments: list[SpokenSegment] = []
        for group in windows(parts(), BATCH_PIECES):
            pieces = [each for each in group if isinstance(each, SoundPiece)]
            heard = iter(self.heard(pieces, search=search, times=times, attention=attention))
            for each in group:
                if isinstance(each, SoundPiece):
                    segments.append(next(heard))
                    continue
                yield Transcript((*segments,), each) if isinstance(each, float) else each
                segments = []

    def languages(self, language: str = "", to: str = "") -> Self:
        """Return this model for recordings in a language and texts in another.

        Raises ConfigurationError for another language than those that its card names.
        """
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
    ) -> list[SpokenSegment]:
        """Return the segments of pieces of sound, of one recording or of several."""
        features = [log_mel(piece.samples, self.config.audio) for piece in pieces]
        config, rate = search or self.search, self.config.audio.rate
        outputs = self.outputs(features, config)
        segments = [
            SpokenSegment(piece.start, piece.start + len(piece.samples) / rate, found)
            for piece, found in zip(pieces, outputs, strict=True)
        ]
        if not (times or attention):
            return segments
        return [
            self._timed(segment, spectrogram, keep=attention)
            for segment, spectrogram in zip(segments, features, strict=True)
        ]

    def outputs(
        self, features: Sequence[Tensor], config: SearchConfig | None = None
    ) -> list[tuple[Hypothesis, ...]]:
        """Return the outputs for the features (F, bands) of each sound, best first."""
        found: dict[int, tuple[Hypothesis, ...]] = {}
        slots = [self.encoder.slots(len(each)) for each in features]
        for numbers in length_batches(slots, max_tokens=BATCH_SLOTS):
            some = [features[number] for number in numbers]
            outputs = self._lists(self._search, some, config or self.search)
            found.update(zip(numbers, outputs, strict=True))
        return [found[number] for number in range(len(features))]

    @torch.inference_mode()
    def _search(self, features: Sequence[Tensor], config: SearchConfig) -> list[list[Finished]]:
        """Return the outputs of sounds that are computed together."""
        limits = [length_limit(self.encoder.slots(len(each)), config) for each in features]
        keys = [""] * len(features)  # they seed random numbers
        if config.method == "sample":
            keys = [f"{zlib.crc32(each.cpu().numpy().tobytes()):08x}" for each in features]
        return search(self.model, self.memory(features), limits, keys, config)

    def memory(self, features: Sequence[Tensor]) -> Memory:
        """Return the memory of the features (F, bands) of sounds."""
        source, mask = padded_frames(features)
        return self.model.encode(source.to(self.device), mask.to(self.device))

    def _timed(self, segment: SpokenSegment, spectrogram: Tensor, *, keep: bool) -> SpokenSegment:
        """Return a segment with the times of its words, and its attention if it is kept.

        The weights come from teacher forcing of the output.
        """
        best = segment.hypotheses[0]
        if not best.ids or not self.model.decoder.attends:
            return segment
        memory = self.memory([spectrogram])
        target = pad([[*best.ids, END]], self.device)
        batch = teacher_forcing_batch(memory.values, memory.mask, *target)
        forced = self.model.teacher_force(batch, memory=memory, want_weights=True)
        assert forced.weights is not None
        weights = forced.weights[0, :-1].float().cpu()  # (T, S)
        attention = SoundAttention(
            best.tokens,
            weights,
            self.encoder.slot_seconds,
            spectrogram.cpu(),
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
