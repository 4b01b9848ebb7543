"""Rows of several inputs in training. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attncli.data.tables import row_pairs
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, TrainingSource
from attncli.translate.source import BLEU, TextTraining, check_files
from models.core.errors import ModelError
from models.core.settings import option
from models.core.use_config import check_joint


@dataclass(frozen=True)
class RowData(DataConfig):
    """Rows of several inputs: a table whose first line names its columns."""

    train: tuple[str, ...] = option((), "a table of rows")
    dev: tuple[str, ...] = option((), "a table for evaluation during training")
    target: str = option("target", "column of the target; model.inputs names the other columns")
    images: str = option("", "a folder of the images of the rows, or a TAR file of them")
    features: str = option(
        "", "folder that caches the features of a frozen image encoder (empty: the user's cache)"
    )

    FOLDERS = ("images",)
    CACHES = ("features",)

    def rows(self, files: Sequence[Path | str], part: str = "train") -> Iterable[tuple[str, str]]:
        """Return the target of each row; raise ModelError for a table without targets."""
        return row_pairs(files, (), self.target)


class RowTraining(TrainingSource):
    """Rows of several inputs: a table whose first line names its columns."""

    data: RowData

    module = "attncli.several_inputs.data"
    unit, vocabulary = "rows", TextTraining.vocabulary
    length_limits = TextTraining.length_limits
    demo_name = "rows"
    default_preset = "multi-source-small"
    example_input = "attn translate -i TABLE"
    table = RowData
    by_preset = True  # the option that names a table of rows also names sentence pairs
    settings = ("r_drop",)
    comparison = Comparison(
        outputs=TextTraining.comparison.outputs,
        preset="multi-source-small",
        variants=("flat", "hierarchical"),
        metrics=BLEU,
    )
    search_settings = TextTraining.search_settings

    def check(self) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check()
        check_files(self.data.train, self.data.dev)
        check_joint(self.tokenizer)
        if (files := len(self.data.train)) > 1:
            raise ModelError(f"{files} training files for {self.named}", "one table of rows")
