"""Transcripts, and what all models of speech share. Imports no torch."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, NamedTuple

from models.core.errors import ModelError
from models.core.types import Hypothesis
from models.core.use_config import SearchConfig
from models.engines.trained import TrainedModel
from models.search.steering import PLAIN, Steering
from models.speech._voice import spoken
from models.speech.recordings import Floats, Recording, read_blocks, recording_of
from models.storage.settings import read_settings

if TYPE_CHECKING:
    from torch import Tensor
    from typing_extensions import Self

PIECES = "models.speech.transcriber:Transcriber"
WHISPER = "models.speech._whisper:WhisperTranscriber"
NamedRecording = tuple[str, Callable[[], Recording]]  # for messages; opens the recording


class Word(NamedTuple):
    """A word and where it is heard."""

    text: str
    start: float  # in seconds from the start of the recording
    end: float
    probability: float = 1.0  # mean of its tokens, of a model that estimates it

    @property
    def seconds(self) -> float:
        """Duration."""
        return self.end - self.start


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
    left_out: int = 0  # segments that are probably none of the words that the model knows

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


class SpeechModel(TrainedModel):
    """A trained model of speech in use. Its output for a recording does not depend on others."""

    source = "audio"
    vad = False  # leave out what has no speech
    knows = ""  # all that a model of few words knows; "": any speech
    doubtful = False  # write words also for what is probably none of them
    rate: int  # samples a second that it reads
    # yields the transcript of each NamedRecording, or why there is none, in order; takes search,
    # times, attention and steering as `transcribe`
    stream: Callable[..., Iterator[Transcript | ModelError]]

    @classmethod
    def read(
        cls, folder: str | Path, *, device: str = "cpu", threads: int = 0, precision: str = "auto"
    ) -> SpeechModel:
        """Read the model of a bundle folder; one that reads windows of a fixed length is Whisper.

        precision: of Whisper. Raises ModelError if the model reads another kind of input.
        """
        kind = cls.kind_of(folder)
        return kind.read(folder, device=device, threads=threads, precision=precision)

    @staticmethod
    def kind_of(folder: str | Path) -> type[SpeechModel]:
        """Return the class that reads the model of a bundle folder."""
        is_whisper = read_settings(Path(folder))["model"].get("audio", {}).get("padded")
        found: type[SpeechModel] = resolve_name(WHISPER if is_whisper else PIECES)
        return found

    def languages(self, language: str = "", to: str = "") -> Self:
        """Return this model for the language of recordings and that of texts; "": as it finds."""
        raise NotImplementedError

    def transcribe(
        self,
        recording: object,
        *,
        rate: int = 0,
        name: str = "",
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
        steering: Steering = PLAIN,
    ) -> Transcript:
        """Return the text of a recording: a path, a file or its bytes, or an array of samples.

        rate: samples a second of an array, (N,), (N, channels) or (channels, N). name: for
        messages. search: settings; the default is `self.search`. times: True adds the times of
        words. attention: True adds times and attention. steering: places of its looks are
        milliseconds. Raises ModelError for a recording that
        cannot be used; see models.speech.recordings.
        """
        opened = recording_of(recording, rate)
        alone = [(name, lambda: opened)]
        [found] = self.stream(
            alone, search=search, times=times, attention=attention, steering=steering
        )
        if isinstance(found, ModelError):
            raise found
        return found

    def blocks(self, recording: Recording, name: str = "") -> Iterator[Floats]:
        """Yield the samples of a recording; those without speech are zeros if `vad` is set."""
        found = read_blocks(recording, self.rate, name)
        return spoken(found, self.rate, name) if self.vad else found
