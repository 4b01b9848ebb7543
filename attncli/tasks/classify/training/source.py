"""Labelled texts in training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attncli.training.settings.preparation import preparation
from attncli.training.sources.base import LABEL_METRICS, TrainingSource, refuse_settings
from models.base.errors import ModelError

if TYPE_CHECKING:
    from attncli.training.interfaces import Data, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.base.types import VocabularySizes
    from models.config.tables import TokenizerConfig


class LabelTraining(TrainingSource):
    """Labelled texts: a table of label, tab, text; or sentences of the grammar and their tense."""

    unit = "labelled texts"
    length_limits = "data.max_length or model.max_source"
    demo_name = "tenses"
    embedded = "the embedded grammar, labelled with the tense"
    default_preset = "bilstm-attention-small"
    example_input = "echo 'A dog runs.' | attn classify"

    def has_data(self, data: DataConfig) -> bool:
        """Return True if a file of labelled texts is named."""
        return bool(data.labels)

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the path of the labelled texts."""
        return (data.labels,) if data.labels else ()

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Refuse other data, and settings that have no effect on labels."""
        others = data.train or data.dev or data.corpora or data.images or data.captions
        unfit = {
            "sentence pairs or images": others,
            "data.noise": data.noise,
            "data.concatenate": data.concatenate,
            "train.subword_sampling": train.subword_sampling,
            "train.attention.coverage": train.attention.coverage != "none",
        }
        refuse_settings(unfit, train, named, "labelled texts")
        if data.dev_labels and not data.labels:
            raise ModelError("data.dev_labels without data.labels", "both")
        if train.metric not in ("auto", "loss", *LABEL_METRICS):
            raise ModelError(
                f"train.metric = {train.metric!r} for {named}",
                f"{', '.join(LABEL_METRICS)} or loss",
            )

    def fingerprints(self, data: DataConfig) -> dict[str, str]:
        """Return a hash of the content of both tables."""
        from attncli.tasks.classify.training import data as label_data

        return label_data.fingerprints(data)

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised texts with their labels, and the dev set."""
        from attncli.tasks.classify.training import data as label_data

        return label_data.load(preparation(config), folder, progress)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the numbers of tokens and of labels."""
        return f"{sizes.source:,} tokens, {sizes.target:,} labels"
