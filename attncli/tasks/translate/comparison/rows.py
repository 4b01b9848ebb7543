"""Comparison of models of several inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attncli.data.text.rows import row_pairs
from attncli.jobs.compared import ComparedData, ComparedFiles, Sets, mark_of
from attncli.tasks.translate.comparison.runs import ComparedTexts
from models.base.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path

    from attncli.training.settings.config import DataConfig


class ComparedRows(ComparedTexts):
    """Translations of rows: compared by BLEU. The sets are the paths of tables."""

    presets = "presets of several inputs"
    preset = demo_preset = "multi-source-small"
    variants = ("flat", "hierarchical")
    settings = budget = ()
    without_attention = ""
    scoring = "attncli.tasks.translate.comparison.scores:row_scores"

    def is_named(self, files: ComparedFiles) -> bool:
        """Return False: the preset distinguishes a table of rows from a table of sentence pairs."""
        return False

    def prepare(
        self, data: DataConfig, seed: int, files: ComparedFiles, folder: Path
    ) -> ComparedData:
        """Return the named tables."""
        if not data.train:
            raise ConfigurationError(
                "a comparison of models of several inputs without data",
                "--train and --dev, each a table whose first line names its columns",
            )
        if files.gold:
            raise ConfigurationError(
                "--gold for models of several inputs", "links of one source", "leave it out"
            )
        tables = [*data.train, *data.dev, *map(str, files.test)]
        for table in tables:
            next(row_pairs([table], (), data.target))  # refuse one without targets
        mark = mark_of([data.dev, files.test])
        return ComparedData(data, Sets(data.dev, files.test or None, mark))
