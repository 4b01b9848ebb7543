"""Labelled texts in training: their settings and their source."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attncli.data.text.tables import read_labelled
from attncli.training.interfaces import Data, DevSet, Progress
from attncli.training.settings.config import DataConfig
from attncli.training.sources import Comparison, TrainingSource, preparation
from models.base.errors import ModelError
from models.base.registry import TABLES
from models.base.settings import option
from models.use_config import TokenizerConfig

if TYPE_CHECKING:
    from attncli.training.settings.config import RunConfig, TrainConfig
    from models.base.types import VocabularySizes


@dataclass(frozen=True)
class LabelData(DataConfig):
    """Labelled texts."""

    labels: str = option("", "rows of label, tab, text")
    dev_labels: str = option("", "labelled texts for evaluation during training, as for labels")

    PARTS = MappingProxyType({"train": "labels", "dev": "dev_labels"})

    @property
    def has_dev(self) -> bool:
        """True if there are texts for evaluation, or some are held out."""
        return bool(self.dev_labels or (self.labels and self.dev_share))


class LabelTraining(TrainingSource):
    """Labelled texts: a table of label, tab, text; or sentences of the grammar and their tense."""

    unit = "labelled texts"
    length_limits = "data.max_length or model.max_source"
    demo_name = "tenses"
    embedded = "the embedded grammar, labelled with the tense"
    default_preset = "bilstm-attention-small"
    example_input = "echo {} | attn classify"
    data = LabelData
    train = ("r_drop",)
    metrics = ("accuracy", "macro_f1")
    comparison = Comparison(
        outputs="labels",
        presets="presets of classifiers",
        preset="bilstm-attention-small",
        demo_preset="bilstm-attention-nano",
        variants=tuple(TABLES["pooling"]),
        metrics={"accuracy": "accuracy"},
    )

    def count(self, data: Any, most: int) -> int:
        """Return the number of labelled texts."""
        return len(read_labelled(data.labels)) if data.labels else most

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Refuse other data, and settings that have no effect on labels."""
        super().check(data, train, tokenizer, named)
        if train.attention.coverage != "none":
            raise ModelError(f"train.attention.coverage for {named}", "none")
        if data.dev_labels and not data.labels:
            raise ModelError("data.dev_labels without data.labels", "both")

    def demonstration(self, data: Any, seed: int, folder: Path) -> Any:
        """Write labelled sentences of the embedded grammar; return their settings."""
        from attncli.tasks.classify.training import data as label_data

        return label_data.demonstration(data, seed, folder)

    def tests(self, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the table of a test set; raise ModelError for one that cannot be read."""
        for path in files:
            read_labelled(path)
        return files

    def test_set(self, config: RunConfig, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return labelled texts."""
        from attncli.tasks.classify.training.data import dev_labels

        return dev_labels(read_labelled(files[0]))

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return tokenised texts with their labels, and the dev set."""
        from attncli.tasks.classify.training import data as label_data

        return label_data.load(preparation(config), folder, progress)

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the numbers of tokens and of labels."""
        return f"{sizes.source:,} tokens, {sizes.target:,} labels"
