"""Options of transcripts."""

from __future__ import annotations

from dataclasses import dataclass

from attncli.options.settings import Options
from models.core.settings import option


@dataclass(frozen=True)
class TranscribeSettings:
    """Parts of a recording that are transcribed, and the precision of Whisper."""

    vad: bool = option(
        False,
        "leave out what has no speech for two seconds, by Silero's detector: silence, hum, noise "
        "and music give no words",
    )
    doubtful: bool = option(
        False,
        "model of few words, such as digits: also write words for what is probably other speech, "
        "noise or music",
    )
    precision: str = option(
        "auto",
        "Whisper on a processor: fp32, int8 (faster, less exact), or auto, that of the weights",
        choices=("auto", "fp32", "int8"),
    )


@dataclass(frozen=True)
class TranscribeOptions(Options):
    """Options of transcripts. Languages: of a model that chooses them."""

    TABLES = "search attention transcribe"
    UNUSED = "search.max_caption search.nbest"

    transcribe: TranscribeSettings = option(TranscribeSettings, "transcribe")
    align: bool = False  # True adds the times of words
    channels: bool = False  # True transcribes each channel by itself
