"""Annex: rows of several inputs in training. Imports no torch."""

from __future__ import annotations

from attncli.training.sources import Comparison, TrainingSource
from attncli.translate._settings import RowData
from attncli.translate.source import BLEU, TextTraining, check_files
from models.core.errors import ModelError
from models.core.use_config import check_joint


class RowTraining(TrainingSource):
    """Rows of several inputs: a table whose first line names its columns."""

    data: RowData

    module = "attncli.translate.rows"
    unit, vocabulary = "rows", TextTraining.vocabulary
    length_limits = TextTraining.length_limits
    demo_name = "rows"
    embedded = "no data"
    default_preset = "multi-source-small"
    example_input = "attn translate -i TABLE"
    table = RowData
    by_preset = True  # the option that names a table of rows also names sentence pairs
    settings = ("r_drop",)
    comparison = Comparison(
        outputs=TextTraining.comparison.outputs,
        presets="presets of several inputs",
        preset="multi-source-small",
        demo_preset="multi-source-small",
        variants=("flat", "hierarchical"),
        metrics=BLEU,
    )
    search_settings = TextTraining.search_settings

    def check(self) -> None:
        """Refuse settings of texts with one source, and several tables."""
        super().check()
        check_files(self.data)
        check_joint(self.tokenizer)
        if (files := len(self.data.train)) > 1:
            raise ModelError(f"{files} training files for {self.named}", "one table of rows")
