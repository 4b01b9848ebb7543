"""Transcripts of the recordings of a bulk job, as `attn transcribe` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.images.named import RECORDINGS, ImageFile
from attncli.options.settings import GivenSettings
from attncli.options.shared import search_settings
from attncli.render.transcripts import TIMED, TranscribedFile, rendered
from attncli.tasks.transcribe.command import TranscribeTables, transcribe_options
from attncli.tasks.transcribe.runner import TranscribeRunner
from models.base.errors import ConfigurationError


class TranscribeTask(BulkTask):
    """Models of speech, for the recordings of shards."""

    doing, shipped = "transcribing", "transcribe"
    input, files, fields = "images", RECORDINGS, 0
    into = "text"
    unused_tables = ()

    def __init__(self, job: BulkJob) -> None:
        settings = job.settings
        options = transcribe_options(self.given(settings), job.device, job.threads)
        options = replace(options, source=settings["source"], to=settings["to"])
        self.runner = TranscribeRunner.open(Path(job.models[0]), options)
        self.format = job.settings["format"]

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[TranscribeTables]:
        """Return the settings; refuse formats that are one document for each recording."""
        if settings["format"] in ("srt", "vtt"):
            raise ConfigurationError(f"--format {settings['format']}", "text, tsv, jsonl or ctm")
        return search_settings(TranscribeTables, settings["set"], settings["beam"])

    def record(self, value: str | bytes, number: int) -> ImageFile:
        """Return a recording by its path or its bytes."""
        name = value if isinstance(value, str) else f"recording {number}"
        return ImageFile(name, value if isinstance(value, bytes) else Path(value))

    def run(self, records: Sequence[ImageFile]) -> list[RecordResult]:
        """Return the transcript of each recording."""
        found = self.runner.run(records, times=self.format in TIMED)
        return [self._result(each) for each in found]

    def failed(self, record: ImageFile, error: str) -> RecordResult:
        """Return the row of a recording without a transcript."""
        return self._result(TranscribedFile(record.name, None, error))

    def _result(self, found: TranscribedFile) -> RecordResult:
        row = rendered(found, self.format, alone=False)
        return RecordResult(row, None if found.note else found.text, found.note)
