"""Training data by kind of input: one class per kind, named in attncli.tasks.table.

Each kind states how its data are checked, loaded and described. Nothing here imports torch before
data are loaded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, ClassVar

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
    unfit_data: ClassVar[tuple[str, ...]] = ()  # settings of [data] that only other kinds have
    unfit_train: ClassVar[tuple[str, ...]] = ("encoder_from", "self_critical_from")  # of [train]
    metrics: ClassVar[tuple[str, ...]] = (  # besides loss
        *("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter"),
    )
    fine_tuning_rate: ClassVar[float] = 0.0001  # peak learning rate of a trained model

    def has_data(self, data: DataConfig) -> bool:
        """Return True if the settings name training files of this kind."""
        return bool(self.files(data))

    def dev_option(self, data: DataConfig) -> str:
        """Return the option of `attn train` that names a dev set for these data."""
        return "--dev"

    def files(self, data: DataConfig) -> tuple[str, ...]:
        """Return the paths of the training files, for the model card."""
        return ()

    def count(self, data: DataConfig, most: int) -> int:
        """Return the number of training examples; counting may stop at `most`."""
        return most

    def complete(self, data: DataConfig) -> DataConfig:
        """Return the settings with what the named files imply."""
        return data

    def check(
        self, data: DataConfig, train: TrainConfig, tokenizer: TokenizerConfig, named: str
    ) -> None:
        """Raise ModelError for settings that do not apply to this kind of input.

        named: preset and family, for messages.
        """
        unfit = {f"data.{name}": getattr(data, name) for name in self.unfit_data}
        unfit |= {f"train.{name}": getattr(train, name) for name in self.unfit_train}
        for name, value in unfit.items():
            if value:
                raise ModelError(f"{name} for {named}", f"{self.unit} alone, or another preset")
        for metric in (train.metric, *train.patience_metrics):
            if metric not in ("auto", "loss", *self.metrics):
                raise ModelError(
                    f"metric {metric} for {named}", f"{', '.join(self.metrics)} or loss"
                )

    def parts(self, data: DataConfig) -> Mapping[str, Sequence[str]]:
        """Return the paths of the files of each part of the data; none: an empty path."""
        return {"train": data.train, "dev": data.dev}

    def fingerprints(self, data: DataConfig) -> dict[str, str]:
        """Return a hash of the content of each part of the data, by name."""
        parts = self.parts(data).items()
        return {name: corpus.fingerprint(paths) if any(paths) else "" for name, paths in parts}

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
