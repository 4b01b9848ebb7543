"""Recordings to transcribe: the only way from files to texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attncli.bulk.tasks import BulkTask
from attncli.data.images.named import RECORDINGS, ImageFile
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.settings import GivenSettings
from attncli.options.shared import search_settings
from attncli.render.transcripts import TIMED, TranscribedFile, rendered
from attncli.tasks.transcribe.command import TranscribeTables
from models.base.errors import ConfigurationError, InputError, ModelError
from models.inference.transcriber import NamedRecording, Transcriber

if TYPE_CHECKING:
    from attncli.bulk.job import BulkJob


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


class TranscribeTask(BulkTask):
    """Models of speech, for the recordings of a bulk job."""

    doing, shipped, into = "transcribing", "transcribe", "text"
    files, fields = RECORDINGS, 0

    def __init__(self, job: BulkJob) -> None:
        settings, format = job.settings, job.settings["format"]
        languages = {"source": settings["source"], "to": settings["to"]}
        options = OpenOptions.of(self.given(settings), job.device, job.threads, **languages)
        runner = TranscribeRunner.open(Path(job.models[0]), options)
        self.run = partial(runner.run, times=format in TIMED)
        self.row = partial(rendered, format=format, alone=False)

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[TranscribeTables]:
        """Return the settings; refuse formats that are one document for each recording."""
        if settings["format"] in ("srt", "vtt"):
            raise ConfigurationError(f"--format {settings['format']}", "text, tsv, jsonl or ctm")
        return search_settings(TranscribeTables, settings["set"], settings["beam"])

    def failed(self, record: ImageFile, error: str) -> TranscribedFile:
        """Return a recording without a transcript."""
        return TranscribedFile(record.name, None, error)

    def value(self, result: TranscribedFile) -> tuple[str | None, ...]:
        """Return the transcript."""
        return None if result.note else result.text, result.note
