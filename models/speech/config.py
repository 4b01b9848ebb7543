"""The kind of input that is sound, and the settings of its families. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from models.core.config import (
    AttendingConfig,
    ModelConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
    named,
)
from models.core.settings import MAX_SIZE, Need, Settings, option
from models.core.sources import Source

RECURRENT = Need("model.family=listen-attend-spell")
CONVOLUTIONAL = Need("model.family=speech-transformer")


@dataclass(frozen=True, eq=False, repr=False)
class AudioConfig(Settings):
    """Features of sound, and how the encoder divides time into slots."""

    rate: int = option(
        16_000, "samples a second; other recordings are resampled", least=1000, at_most=192_000
    )
    bands: int = option(80, "bands of the spectrum on the mel scale", least=1, at_most=1024)
    center: bool = option(
        False,
        "subtract the logarithm of each band's mean energy over the recording: another loudness or "
        "microphone changes little (after Atal 1974); what is 70 dB below the loudest band, such "
        "as silence of zeros, is raised to that",
    )
    stack: int = option(
        3,
        "listen-attend-spell: frames side by side in an input",
        needs=RECURRENT,
        least=1,
        at_most=64,
    )
    halvings: int = option(
        1,
        "listen-attend-spell: how many of the last encoder layers read pairs",
        needs=RECURRENT,
        at_most=8,
    )
    channels: int = option(
        32,
        "speech-transformer: channels of the two convolutions",
        needs=CONVOLUTIONAL,
        least=1,
        at_most=MAX_SIZE,
    )
    padded: float = option(
        0.0,
        "Whisper: seconds of a window, padded with zeros, that it reads; speech-transformer then "
        "has the features and convolutions of Radford et al. 2022 (0: those of Dong et al. 2018)",
        needs=CONVOLUTIONAL,
        at_most=600,
    )
    alignment_heads: tuple[str, ...] = option(
        (),
        "Whisper: heads that give the times of words, as layer.head (empty: the upper layers)",
        needs=Need("model.audio.padded"),
    )


@dataclass(frozen=True, eq=False, repr=False)
class AudioModelConfig(ModelConfig):
    """A model that reads sound."""

    source: ClassVar[str] = "audio"

    audio: AudioConfig = option(AudioConfig, "features of sound, of a model that transcribes")


@dataclass(frozen=True, eq=False, repr=False)
class ListenAttendSpellConfig(
    AudioModelConfig, AttendingConfig, ReadoutConfig, RecurrentEncoderConfig
):
    """Listen, Attend and Spell."""

    builds: ClassVar[str] = "models.speech.families:ListenAttendSpell"

    family: str = named("listen-attend-spell")


@dataclass(frozen=True, eq=False, repr=False)
class SpeechTransformerConfig(AudioModelConfig, TransformerDecoderConfig):
    """Speech-Transformer."""

    builds: ClassVar[str] = "models.speech.families:SpeechTransformer"

    family: str = named("speech-transformer")


class AudioSource(Source):
    """Audio: frames of a spectrum, one slot per few frames; there is no source vocabulary.

    Source: Chorowski et al. 2015.
    """

    task = "transcribe"
    ability = "transcribes recordings"
    reads_tokens = False
    runner = "models.speech.transcripts:SpeechModel"
    unused_settings = (
        "search.max_caption",
        *("tokenizer.joint", "tokenizer.target_kind"),
    )
