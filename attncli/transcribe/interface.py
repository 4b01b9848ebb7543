"""A model of speech for Python: one recording or many in, one transcript or many out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict, overload

from attncli.data.named_files import NamedFile
from attncli.options.arguments import checked
from attncli.options.loading import searching
from attncli.transcribe._options import TranscribeOptions, TranscribeSettings
from attncli.transcribe.formats import TranscribedFile
from attncli.transcribe.runner import TranscribeRunner
from models.core.use_config import SearchConfig
from models.speech import transcripts
from models.speech.recordings import SampleArray, recording_of

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray
    from torch import Tensor
    from typing_extensions import Unpack

    from attncli.explain.result import ExplainedLine
    from attncli.explain.runner import ExplainSettings

    GivenRecording: TypeAlias = str | Path | bytes | BinaryIO | SampleArray | NDArray[Any] | Tensor

GivenSeconds = str | tuple[float, float]  # a stretch of a recording


class TranscriptSettings(TypedDict, total=False):
    """Options of `SpeechModel.transcribe`."""

    rate: float
    source: str
    to: str
    search: SearchConfig | None
    times: bool
    attention: bool
    prefix: str
    look: GivenSeconds | Sequence[GivenSeconds]
    vad: bool
    doubtful: bool


class SpeechModel(transcripts.SpeechModel):
    """A `models.speech.transcripts.SpeechModel` whose results show themselves."""

    @classmethod
    def read(cls, folder: str | Path, **engine: Any) -> SpeechModel:
        """Read the model of a bundle folder; see the class of the library."""
        kind = cls.kind_of(folder)
        if issubclass(cls, kind):
            return super().read(folder, **engine)  # type: ignore[return-value]
        # not a class of each kind: Whisper is read without torch, which the other kind imports
        shown: type[SpeechModel] = type(cls.__name__, (cls, kind), {})
        return shown.read(folder, **engine)

    @overload  # type: ignore[override]
    def transcribe(  # type: ignore[overload-overlap]
        self, recordings: GivenRecording, **settings: Unpack[TranscriptSettings]
    ) -> TranscribedFile: ...

    @overload
    def transcribe(
        self, recordings: Iterable[GivenRecording], **settings: Unpack[TranscriptSettings]
    ) -> list[TranscribedFile]: ...

    @checked
    def transcribe(
        self,
        recordings: Any,
        *,
        rate: float = 0,
        source: str = "",
        to: str = "",
        search: SearchConfig | None = None,
        times: bool = False,
        attention: bool = False,
        prefix: str = "",
        look: GivenSeconds | Sequence[GivenSeconds] = (),
        vad: bool = False,
        doubtful: bool = False,
    ) -> TranscribedFile | list[TranscribedFile]:
        """Transcribe a recording, or many: one in, one out; a list in, a list out.

        recordings: a path, a file or its bytes, or an array of samples, (N,), (N, channels) or
        (channels, N). rate: samples a second of arrays. source: language of the recordings
        (Whisper: else detected). to: en translates into English (Whisper). search: settings; the
        default is `self.search`. times: True adds the times of words. attention: True adds times
        and attention at once; without it, a picture transcribes its recording again. prefix: text
        that each transcript begins with. look: the seconds (start, end) that alone may be attended
        to, or a text as that of `attn transcribe --look`, or several of these. vad: leave out what
        has no speech. doubtful: of a model of few words, also write what is probably other speech.
        Raises ModelError for a recording that cannot be used; see models.speech.recordings.
        """
        parts = TranscribeSettings(vad=vad, doubtful=doubtful)
        options = TranscribeOptions(
            source=source, to=to, prefix=prefix, look=looks_of(look), transcribe=parts, align=times
        )
        files, is_one = files_of(recordings, rate)
        runner, results = TranscribeRunner.of(searching(self, search), options), []
        for result in chain.from_iterable(runner.run([files], weights=attention)):
            if result.fault:
                raise result.fault
            results.append(result)
        return results[0] if is_one else results

    @checked
    def explain(
        self, recordings: Any, *, rate: float = 0, **how: Unpack[ExplainSettings]
    ) -> ExplainedLine | list[ExplainedLine]:
        """Explain the words of the transcript of a recording, or of many, by stretches of sound.

        recordings, rate: see `transcribe`. method: of docs/explain.md, or several, or all; the
        default is attention and erasure. word: number of the only word that is explained, from 1.
        """
        from attncli.explain.runner import explain  # imports torch

        files, is_one = files_of(recordings, rate)
        runner = TranscribeRunner.of(self, TranscribeOptions())
        return explain(runner, files, alone=is_one, **how)


def files_of(recordings: Any, rate: float) -> tuple[list[NamedFile], bool]:
    """Return recordings as files, or as sounds in memory; True if it is a single one.

    rate: samples a second of arrays. Raises InputError for what is no recording.
    """
    kinds = (str, Path, bytes, bytearray, SampleArray)
    is_one = isinstance(recordings, kinds) or not isinstance(recordings, Iterable)
    is_one = is_one or hasattr(recordings, "read") or hasattr(recordings, "ndim")
    given = [recordings] if is_one else [*recordings]
    if not is_one and given and isinstance(given[0], Real):  # a list of samples
        given, is_one = [given], True
    return [_named(one, rate) for one in given], is_one


def _named(given: Any, rate: float) -> NamedFile:
    found = recording_of(given, rate)
    if isinstance(found, Path):
        return NamedFile(str(found), found)
    if isinstance(found, bytes):
        return NamedFile("the recording", found)
    return NamedFile("the recording", opened=found)


def looks_of(look: GivenSeconds | Sequence[GivenSeconds]) -> tuple[str, ...]:
    """Return one stretch of a recording or several as texts."""
    is_one = isinstance(look, str) or (len(look) == 2 and isinstance(look[0], Real))
    stretches: Sequence[Any] = [look] if is_one else look
    return tuple(one if isinstance(one, str) else "-".join(map(str, one)) for one in stretches)
