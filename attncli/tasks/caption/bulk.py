"""Captions of the images of a bulk job, as `attn caption` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import BulkTask, RecordResult
from attncli.data.images.named import ImageFile
from attncli.options.settings import GivenSettings
from attncli.options.shared import search_settings
from attncli.render.rows import RowLayout
from attncli.tasks.caption.command import CaptionTables, caption_options
from attncli.tasks.caption.images import CaptionRunner
from attncli.tasks.caption.writers import CaptionedImage, rendered
from models.base.errors import ConfigurationError

TRUNCATED = "{}: the caption was cut at its length limit (search.max_caption raises the limit)"


class CaptionTask(BulkTask):
    """Captioners of the images of shards."""

    doing, shipped = "captioning", "caption"
    input, fields = "images", 0
    into = "caption"
    unused_tables = ("output",)

    def __init__(self, job: BulkJob) -> None:
        given = self.given(job.settings)
        options = caption_options(given, job.device, job.threads)
        self.runner = CaptionRunner.open(
            Path(job.models[0]), options, batch=given.tables.compute.batch_images
        )
        captioner = self.runner.captioner
        several = captioner.search.nbest > 1
        self.layout = RowLayout(
            job.settings["format"], several, job.settings["scores"], captioner.read_mode
        )

    @staticmethod
    def given(settings: Mapping[str, Any]) -> GivenSettings[CaptionTables]:
        """Return the settings; refuse one page for all images."""
        if settings["format"] == "html":
            raise ConfigurationError("--format html, which is one document", "text, tsv or jsonl")
        set, beam, nbest = (settings[name] for name in ("set", "beam", "nbest"))
        return search_settings(CaptionTables, set, beam, nbest)

    def record(self, value: str | bytes, number: int) -> ImageFile:
        """Return an image by its path or its bytes."""
        if isinstance(value, bytes):
            return ImageFile(f"image {number}", value)
        return ImageFile(value, Path(value))

    def run(self, records: Sequence[ImageFile]) -> list[RecordResult]:
        """Return the captions of each image."""
        groups = self.runner.run([records])
        return [self._result(outcome) for group in groups for outcome in group]

    def failed(self, record: ImageFile, error: str) -> RecordResult:
        """Return the row of an image without a caption."""
        return self._result(CaptionedImage(record, (), note=error))

    def _result(self, outcome: CaptionedImage) -> RecordResult:
        row = rendered([outcome], self.layout)
        if not outcome.hypotheses:
            return RecordResult(row, None, outcome.note)
        cut = [TRUNCATED.format(outcome.file.name)] if outcome.hypotheses[0].truncated else []
        return RecordResult(row, outcome.caption, warnings=tuple(cut))
