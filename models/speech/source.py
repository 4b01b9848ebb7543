"""The kind of input that is sound. Imports no torch."""

from __future__ import annotations

from models.core.sources import Source


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
