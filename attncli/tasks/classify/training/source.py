"""Labelled texts in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attncli.data.text.tables import read_labelled
from attncli.training.sources import TrainingSource
from attncli.training.sources.preparation import preparation
from models.base.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.interfaces import Data, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.base.types import VocabularySizes
    from models.config import TokenizerConfig


class LabelTraining(TrainingSource):
    """Labelled texts: a table of label, tab, text; or sentences of the grammar and their tense."""

    unit = "labelled texts"
    length_limits = "data.max_length or model.max_source"
    demo_name = "tenses"
    embedded = "the embedded grammar, labelled with the tense"
    default_preset = "bilstm-attention-small"
    example_input = "echo {} | attn classify"
    unfit_data = (
        *("train", "dev", "corpora", "dev_corpora", "noise", "concatenate", "replay"),
        *("images", "captions", "dev_captions", "regions", "links"),
    )
    unfit_train = ("subword_sampling", *TrainingSource.unfit_train)
    metrics = ("accuracy", "macro_f1")

    def count(self, data: DataConfig, most: int) -> int:
        """Return the number of labelled texts."""
        return len(read_labelled(data.labels)) if data.labels else most

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the path of the labelled texts."""
        return (data.labels,) if data.labels else ()

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse other data, and settings that have no effect on labels."""
        super().check(data, train, tokenizer, named)
        if train.attention.coverage != "none":
            raise ModelError(f"train.attention.coverage for {named}", "none")
        if data.dev_labels and not data.labels:
            raise ModelError("data.dev_labels without data.labels", "both")

    def parts(self, data: DataConfig) -> Mapping[str, Sequence[str]]:
        """Return the paths of both tables."""
        return {"train": (data.labels,), "dev": (data.dev_labels,)}

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised texts with their labels, and the dev set."""
        from attncli.tasks.classify.training import data as label_data

        return label_data.load(preparation(config), folder, progress)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the numbers of tokens and of labels."""
        return f"{sizes.source:,} tokens, {sizes.target:,} labels"
