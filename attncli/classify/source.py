"""Training data of classifiers: tables of label, tab, text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from attncli.classify._table import LabelledText, read_labelled
from attncli.data.embedded import as_table, split_tenses
from attncli.training.config import DataConfig
from attncli.training.sources import Comparison, Sizes, TrainingSource
from models.core.errors import ModelError
from models.core.registry import TABLES
from models.core.settings import Need, option

if TYPE_CHECKING:
    pass


@dataclass(frozen=True)
class LabelData(DataConfig):
    """Labelled texts."""

    labels: str = option("", "rows of label, tab, text")
    dev_labels: str = option(
        "",
        "labelled texts for evaluation during training, as for labels",
        needs=Need("data.labels"),
    )

    HAS_BLEU = False
    PARTS = MappingProxyType({"train": "labels", "dev": "dev_labels"})

    def rows(self, files: Sequence[Path | str], part: str = "train") -> list[LabelledText]:
        """Return the labelled texts of a table."""
        return read_labelled(files[0])


class LabelTraining(TrainingSource):
    """Labelled texts: a table of label, tab, text; or sentences of the grammar and their tense."""

    data: LabelData
    module = "attncli.classify.data"
    unit, vocabulary = "labelled texts", ("{source:,} tokens, {target:,} labels",) * 2
    length_limits = "data.max_length or model.max_source"
    demo_name = "tenses"
    demo_sizes = (8000, 500, 500)
    demo_files = MappingProxyType({"labels": "train.tsv", "dev_labels": "dev.tsv"})
    embedded = "the embedded grammar, labelled with the tense"
    default_preset = "bilstm-attention-small"
    example_input = "echo {} | attn classify"
    table = LabelData
    settings = ("r_drop",)
    metrics = ("accuracy", "macro_f1")
    comparison = Comparison(
        outputs="labels",
        preset="bilstm-attention-small",
        demo_preset="bilstm-attention-nano",
        variants=tuple(TABLES["pooling"]),
        metrics={"accuracy": "accuracy"},
    )

    def check(self) -> None:
        """Refuse other data, and settings that have no effect on labels."""
        super().check()
        if self.train.attention.coverage != "none":
            raise ModelError(f"train.attention.coverage for {self.named}", "none")

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield tables of sentences of the embedded grammar, labelled with their tense."""
        for part, rows in split_tenses(*sizes[:2], seed=seed)._asdict().items():
            yield f"{part}.tsv", as_table(rows)
