"""A model of speech: one recording or many in, one transcript or many out."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, overload

from attncli.interface.results import check_search
from models.base.errors import InputError
from models.inference.transcriber import Transcriber as SpeechModel
from models.inference.transcriber import Transcript
from models.sound.reading import Recording, Samples
from models.use_config import SearchConfig


class Transcriber(SpeechModel):
    """A `models.inference.transcriber.Transcriber` that opens recordings."""

    @overload  # type: ignore[override]
    def transcribe(
        self,
        recordings: str | Path | bytes,
        *,
        rate: int = ...,
        search: SearchConfig | None = ...,
        times: bool = ...,
        attention: bool = ...,
    ) -> Transcript: ...

    @overload
    def transcribe(
        self,
        recordings: Any,
        *,
        rate: int = ...,
        search: SearchConfig | None = ...,
        times: bool = ...,
        attention: bool = ...,
    ) -> Any: ...

    def transcribe(
        self,
        recordings: Any,
        *,
        rate: int = 0,
        search: SearchConfig | None = None,
        times: bool = True,
        attention: bool = False,
    ) -> Transcript | list[Transcript]:
        """Transcribe a recording, or many: one in, one out; a list in, a list out.

        recordings: a path, a file or its bytes, or an array or tensor of samples (N,),
        (N, channels) or (channels, N) at a rate. rate: samples a second of arrays, which need it.
        search: settings; the default is `self.search`. times: False leaves out the times of words.
        attention: True adds the attention of each token.
        """
        check_search(search)
        is_one = isinstance(recordings, (str, Path, bytes, bytearray))
        is_one = is_one or hasattr(recordings, "read") or not isinstance(recordings, Iterable)
        is_one = is_one or hasattr(recordings, "ndim")
        found = [
            super(Transcriber, self).transcribe(
                _opened(each, rate), search=search, times=times, attention=attention
            )
            for each in ([recordings] if is_one else recordings)
        ]
        return found[0] if is_one else found


def _opened(recording: Any, rate: int) -> Recording:
    """Return a recording as the model takes it."""
    if isinstance(recording, (str, Path)):
        return Path(recording)
    if isinstance(recording, (bytes, bytearray)):
        return bytes(recording)
    if hasattr(recording, "read"):
        return recording
    if not rate:
        raise InputError("an array of samples without its rate", "transcribe(samples, rate=16000)")
    return Samples(recording, rate)
