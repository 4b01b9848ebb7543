"""Options of transcripts."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.settings import Options
from models.core.settings import option


@dataclass(frozen=True)
class SpeechDetection:
    """What of a recording is transcribed."""

    vad: bool = option(
        False,
        "leave out what has no speech for two seconds, by Silero's detector: silence, hum, noise "
        "and music give no words",
    )


@dataclass(frozen=True)
class TranscribeOptions(Options):
    """Options of transcripts. Languages: of a model that chooses them."""

    TABLES = "search attention transcribe"
    UNUSED = "search.max_caption search.nbest"

    transcribe: SpeechDetection = option(SpeechDetection, "transcribe")
    align: bool = False  # True adds the times of words
    channels: bool = False  # True transcribes each channel by itself
