"""Training data by kind of input: one class per kind, named in attncli.tasks.table.

Each kind states how its data are checked, loaded and described. Nothing here imports torch before
data are loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar

from attncli.data.text import corpus
from attncli.tasks.table import TRAINING
from models.base.errors import ModelError
from models.base.registry import source_name

if TYPE_CHECKING:
    from attncli.data.batching import Examples
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import DataConfig, RunConfig, TrainConfig
    from models.base.types import VocabularySizes
    from models.config import ModelConfig, SearchConfig, TokenizerConfig


class TrainingSource:
    """One kind of input in training: its checks, its data and its description."""

    unit: ClassVar[str]  # plural name of the examples: "sentence pairs"
    length_limits: ClassVar[str]  # settings that exclude long examples
    demo_name: ClassVar[str]  # name of the embedded data; also the default run folder
    embedded: ClassVar[str]  # description of the embedded data, for the model card
    default_preset: ClassVar[str]  # preset where the data are of this kind and none is named
    example_input: ClassVar[str]  # command that uses a model, up to `-m MODEL`; {}: a text
    data: ClassVar[type[DataConfig]]  # the table [data] of this kind
    train: ClassVar[tuple[str, ...]] = ()  # settings of [train] that not all kinds have
    by_preset: ClassVar[bool] = False  # True: only the preset tells this kind from another
    metrics: ClassVar[tuple[str, ...]] = (  # besides loss
        *("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter"),
    )
    fine_tuning_rate: ClassVar[float] = 0.0001  # peak learning rate of a trained model

    def count(self, data: Any, most: int) -> int:
        """Return the number of training examples; counting may stop at `most`."""
        return most

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Raise ModelError for settings that do not apply to this kind of input.

        named: preset and family, for messages.
        """
        for other in training_sources():
            for name in other.train:
                if getattr(train, name) and name not in self.train:
                    raise not_for(f"train.{name}", named, self.unit)
        for metric in (train.metric, *train.patience_metrics):
            if metric not in ("auto", "loss", *self.metrics):
                raise ModelError(
                    f"metric {metric} for {named}", f"{', '.join(self.metrics)} or loss"
                )

    def fingerprints(self, data: Any) -> dict[str, str]:
        """Return a hash of the content of each part of the data, by name."""
        parts = {part: data.named(name) for part, name in data.PARTS.items()}
        found = {part: corpus.fingerprint(paths) for part, paths in parts.items() if any(paths)}
        return {"train": "", "dev": "", **found}

    def shipped_weights(self, config: ModelConfig) -> dict[str, str]:
        """Return a hash, by name, of the shipped weights that a new model starts from."""
        return {}

    def load(self, config: RunConfig, folder: Path, progress: Progress) -> Data:
        """Return the run's data; prepare them in the run folder the first time."""
        raise NotImplementedError

    def search_settings(self, search: SearchConfig, examples: Examples) -> SearchConfig:
        """Return the search settings with limits that fit the training data."""
        return search

    def store_head(self, folder: Path, dev: DevSet, *, device: str) -> None:
        """Store in a bundle which attention head aligns best; only text can be aligned."""

    def describe_vocabulary(self, sizes: VocabularySizes) -> str:
        """Return the vocabulary sizes of a model as text."""
        return f"{sizes.target:,} tokens"


def not_for(setting: str, named: str, unit: str) -> ModelError:
    """Return the error for a setting of another kind of input. named: preset and family."""
    return ModelError(f"{setting} for {named}", f"{unit} alone, or another preset")


@cache
def find_training_source(name: str) -> TrainingSource:
    """Return the training source of a kind of input."""
    return resolve_name(TRAINING[name])()


def training_source(family: str) -> TrainingSource:
    """Return the training source of a family; a ModelError if the family is unknown."""
    return find_training_source(source_name(family))


def training_sources() -> Iterator[TrainingSource]:
    """Yield every registered training source."""
    yield from map(find_training_source, TRAINING)


def named_kind(names: Iterable[str]) -> str:
    """Return the kind of input whose table [data] has most of these settings; "" without files.

    Of several, the first in the table of tasks.
    """
    given = set(names)

    def matches(kind: str) -> int:
        source = find_training_source(kind)
        names = {*source.data.PARTS.values(), *source.data.FOLDERS}
        return 0 if source.by_preset else len(given & names)

    found = max(TRAINING, key=matches)
    return found if matches(found) else ""
