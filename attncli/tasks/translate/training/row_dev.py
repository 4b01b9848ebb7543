"""A dev set of rows of several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from attncli.tasks.translate.training.dev import DevTexts
from attncli.tasks.translate.training.row_images import RowImages, image_name
from models.base.types import Batch
from models.bundle import Bundle
from models.inference.row_translator import RowTranslator
from models.inference.translator import Translator
from models.sources.rows import RowColumns


@dataclass(frozen=True)
class DevRows(DevTexts):
    """Rows that are decoded and scored during training."""

    columns: RowColumns = RowColumns((), False)
    images: RowImages | None = None  # of the run, if its rows name images

    def with_images(self, batch: Batch, sources: Sequence[str]) -> Batch:
        """Return a batch with the stored images of its rows."""
        if self.images is None:
            return batch
        keys = [self.images.key(image_name(row)) for row in sources]
        return batch._replace(images=self.images.of(keys).to(batch.source.device))

    def translator(self, bundle: Bundle, device: str) -> Translator:
        """Return a model in training, ready for use; it reads stored images."""
        return StoredImageTranslator(bundle, device, self.images)


class StoredImageTranslator(RowTranslator):
    """A model of several inputs that reads the stored images of a run instead of their files."""

    def __init__(self, bundle: Bundle, device: str, stored: RowImages | None) -> None:
        super().__init__(bundle, device)
        self.stored = stored

    def images(self, rows: Sequence[str]) -> Tensor | None:
        """Return the stored features or pixels of the images of rows."""
        if self.stored is None:
            return None
        keys = [self.stored.key(image_name(row)) for row in rows]
        return self.stored.of(keys).to(self.device)
