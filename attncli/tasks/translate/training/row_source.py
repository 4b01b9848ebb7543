"""Rows of several inputs in training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attncli.tasks.translate.training.source import TextTraining
from attncli.training.sources.preparation import preparation
from models.base.errors import ModelError
from models.sources.rows import columns_of

if TYPE_CHECKING:
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.config.tables import TokenizerConfig


class RowTraining(TextTraining):
    """Rows of several inputs: a table whose first line names its columns."""

    unit = "rows"
    demo_name = "rows"
    embedded = "no data"
    default_preset = "multi-source-small"
    example_input = "attn translate -i TABLE"
    unfit_data = (
        *("corpora", "dev_corpora", "noise", "concatenate"),
        *("captions", "dev_captions", "regions", "labels", "dev_labels"),
    )
    unfit_train = ("subword_sampling", *TextTraining.unfit_train)

    def has_data(self, data: DataConfig) -> bool:
        """Return False, because the option that names a table of rows also names sentence pairs."""
        return False

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check(data, train, tokenizer, named)
        if len(data.train) > 1:
            raise ModelError(f"{len(data.train)} training files for {named}", "one table of rows")

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised rows and the dev set."""
        from attncli.tasks.translate.training import row_images, rows

        columns = columns_of(config.model.inputs)
        images = row_images.row_images(config.model, config.data, config.train, config.start_from)
        return rows.load(preparation(config), columns, images, folder, progress)

    def store_head(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Keep the mean of all heads: rows have no gold alignment of one source."""
