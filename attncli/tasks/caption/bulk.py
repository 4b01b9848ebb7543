"""Captions of the images of a bulk job, as `attn caption` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attncli.bulk.job import BulkJob
from attncli.bulk.tasks import RecordResult
from attncli.data.images.named import ImageFile
from attncli.jobs import loading
from attncli.jobs.loading import OpenOptions
from attncli.options.overrides import SearchOverrides
from attncli.tasks.caption.images import caption_images
from attncli.tasks.caption.writers import CaptionedImage, CaptionLayout, rendered
from models.config.tables import BATCH_IMAGES

TRUNCATED = "{}: the caption was cut at its length limit (--max-caption raises the limit)"


@dataclass(frozen=True)
class CaptionSettings:
    """Settings of bulk captions; see the options of `attn caption`."""

    format: str = "text"
    scores: bool = False
    search: Mapping[str, Any] = field(default_factory=dict)  # overrides of the saved settings
    read_mode: str | None = None
    batch: int = BATCH_IMAGES


class CaptionTask:
    """Captioners of the images of shards."""

    into = "caption"

    def __init__(self, job: BulkJob) -> None:
        self.settings = settings = CaptionSettings(**job.settings)
        search = SearchOverrides(settings.search)
        options = OpenOptions(job.device, job.threads, settings.read_mode, search)
        self.captioner = loading.open_captioners([Path(model) for model in job.models], options)
        several = self.captioner.search.nbest > 1
        self.layout = CaptionLayout(
            settings.format, False, several, settings.scores, self.captioner.read_mode
        )

    def record(self, value: str | bytes, number: int) -> ImageFile:
        """Return an image by its path or its bytes."""
        if isinstance(value, bytes):
            return ImageFile(f"image {number}", value)
        return ImageFile(value, Path(value))

    def run(self, records: Sequence[ImageFile]) -> list[RecordResult]:
        """Return the captions of each image."""
        groups = caption_images(
            [list(records)],
            self.captioner,
            search=self.captioner.search,
            batch=self.settings.batch,
        )
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
