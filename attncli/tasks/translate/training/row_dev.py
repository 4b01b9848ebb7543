"""A dev set of rows of several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from attncli.tasks.translate.training.dev import DevTexts
from attncli.tasks.translate.training.row_images import RowImages
from models.base.types import Batch
from models.bundle import Bundle
from models.inference.row_translator import RowTranslator
from models.inference.translator import Translator


@dataclass(frozen=True)
class DevRows(DevTexts):
    """Rows that are decoded and scored during training."""

    images: RowImages | None = None  # of the run, if its rows name images

    def with_images(self, batch: Batch, sources: Sequence[str]) -> Batch:
        """Return a batch with the stored images of its rows."""
        if self.images is None:
            return batch
        return batch._replace(images=self.images.of_rows(sources).to(batch.source.device))

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, ready for use."""
        return self.reader(RowTranslator(bundle, device))

    def reader(self, translator: RowTranslator) -> RowTranslator:
        """Return a model that reads the stored images of the rows."""
        return translator.with_stored(None if self.images is None else self.images.of_rows)
