"""Comparison of models that translate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from attncli.jobs.compared.base import ComparedData, ComparedFiles, ComparedSource

if TYPE_CHECKING:
    from attncli.training.settings.config import DataConfig

ONE_WAY = "model.bidirectional=false"  # dot, scaled_dot and cosine need keys of the query's size


class ComparedTexts(ComparedSource):
    """Translations: compared by BLEU and, with gold links, by the alignment error rate."""

    outputs = "translations"
    presets = "presets for texts"
    preset, demo_preset = "rnnsearch-small", "rnnsearch-nano"
    variants: ClassVar[
        tuple[str, ...]
    ] = (  # Luong et al. 2015, table 4, and what came before and after
        *("none", "location", "dot", "general", "concat", "additive", "cosine", "scaled_dot"),
        *("location_aware", "dot,local_m", "general,local_m", "dot,local_p", "general,local_p"),
        *("hard", "sparsemax", "entmax15", "heads=4"),
    )
    settings: ClassVar[tuple[str, ...]] = (ONE_WAY,)
    budget: ClassVar[tuple[str, ...]] = (
        *("train.batch_tokens=2048", "train.steps=1000", "train.evaluate_every=250"),
        "train.patience=0",
    )
    without_attention = "seq2seq"
    scoring = "attncli.tasks.translate.comparison.scores:text_scores"

    def is_named(self, files: ComparedFiles) -> bool:
        """Return True if training files are given."""
        return bool(files.train)

    def prepare(
        self, data: DataConfig, seed: int, files: ComparedFiles, folder: Path
    ) -> ComparedData:
        """Return the named files, or sentences of the embedded grammar with their links."""
        from attncli.tasks.translate.comparison import data as text_data

        if data.train:
            return text_data.compared_texts(data, files.test, files.gold, files.gold_index)
        return text_data.embedded(data, seed, folder)
