"""Recordings to transcribe: the only way from files to texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from attncli.data.images.named import ImageFile
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.render.transcripts import TranscribedFile
from models.base.errors import InputError, ModelError
from models.inference.transcriber import NamedRecording, Transcriber


class TranscribeRunner:
    """A model of speech. `run` is the only way to transcripts, for commands, jobs and service."""

    def __init__(self, transcriber: Transcriber) -> None:
        self.transcriber = transcriber

    @classmethod
    def open(cls, model: Path | None, options: OpenOptions) -> TranscribeRunner:
        """Open a model, or that in the box without one."""
        return cls(loading.open_transcriber(model, options))

    def run(
        self, files: Iterable[ImageFile], *, times: bool = False, weights: bool = False
    ) -> Iterator[TranscribedFile]:
        """Transcribe recordings; yield the results in order.

        times: True adds the times of words; weights: True adds times and attention.
        """
        names: list[str] = []  # of recordings that are read but have no result yet

        def named() -> Iterator[NamedRecording]:
            for file in files:
                names.append(file.name)
                yield file.name, partial(_content, file)

        for found in self.transcriber.stream(named(), times=times, attention=weights):
            name = names.pop(0)
            if isinstance(found, ModelError):
                yield TranscribedFile(name, None, str(found))
            else:
                yield TranscribedFile(name, found)


def _content(file: ImageFile) -> Path | bytes:
    """Return a recording's path or bytes; raise ModelError if it cannot be read."""
    if file.fault:
        raise InputError(file.fault)
    return file.content()
