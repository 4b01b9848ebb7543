"""Examples of a training."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from attncli.data import corpus
from attncli.faithful.checks import are_faithful
from attncli.task.table import TRAINING
from attncli.training.settings.config import RunConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.files import write_bytes, write_folder, write_text
from models.core.registry import source_name
from models.core.settings import from_dict, parse_json, to_dict
from models.core.use_config import VERBATIM, PrepareConfig, SavedSearchConfig, TokenizerConfig
from models.storage.digests import check_digests, read_digests, write_digests
from models.storage.settings import read_settings
from models.text.normalise import check_untokenised, preparation_for

if TYPE_CHECKING:
    import numpy as np

    from attncli.data.alignments import Index
    from attncli.data.batching import Examples
    from attncli.training.interfaces import Data, DevSet, Progress
    from attncli.training.settings.config import DataConfig, TrainConfig
    from models.core.config import ModelConfig
    from models.core.types import VocabularySizes


Sizes = tuple[int, int, int]  # examples of train, dev and test


class Comparison(NamedTuple):
    """Comparison of the models of one kind of input, by `attn models compare`."""

    outputs: str  # what such models produce: "translations"
    presets: str  # for messages: "presets for texts"
    preset: str  # that variants modify, where files are given
    demo_preset: str  # the same for the embedded data
    variants: tuple[str, ...]  # compared if none is named
    metrics: Mapping[str, str]  # fields of Scores: their names in QUALITY; the first ranks variants
    settings: tuple[str, ...] = ()  # of every comparison; -s overrides them
    budget: tuple[str, ...] = ()  # settings for the embedded data; -s overrides them
    without_attention: str = ""  # family of the variant `none`; empty: there is none


class TestFiles(NamedTuple):
    """Files to measure the models of a comparison on."""

    test: Sequence[Path] = ()
    gold: Path | None = None  # links of the test set, or of the dev set if there is none
    gold_index: Literal["0", "1"] | None = None

    @property
    def paths(self) -> list[Path]:
        """Return the files."""
        return [*self.test, *filter(None, [self.gold])]


class TrainingSource:
    """One kind of input in training: its checks, its data and its description."""

    unit: ClassVar[str]  # plural name of the examples: "sentence pairs"
    length_limits: ClassVar[str]  # settings that exclude long examples
    demo_name: ClassVar[str]  # name of the embedded data; also the default run folder
    demo_sizes: ClassVar[Sizes] = (0, 0, 0)  # of the embedded data
    demo_files: ClassVar[Mapping[str, str]] = {}  # settings of [data] that name embedded data
    embedded: ClassVar[str]  # description of the embedded data, for the model card
    default_preset: ClassVar[str]  # preset where the data are of this kind and none is named
    example_input: ClassVar[str]  # command that uses a model, up to `-m MODEL`; {}: a text
    data: ClassVar[type[DataConfig]]  # the table [data] of this kind
    train: ClassVar[tuple[str, ...]] = ()  # settings of [train] that not all kinds have
    by_preset: ClassVar[bool] = False  # True: only the preset tells this kind from another
    # besides loss
    metrics: ClassVar[tuple[str, ...]] = ("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter")
    fine_tuning_rate: ClassVar[float] = 0.0001  # peak learning rate of a trained model
    comparison: ClassVar[Comparison | None] = None  # None: such models are not compared

    def preset_for(self, data: Mapping[str, Any]) -> str:
        """Return the preset where none is named. data: the settings of [data]."""
        return self.default_preset

    def count(self, data: Any, most: int) -> int:
        """Return the number of training examples; counting may stop at `most`."""
        return most

    def texts(self, data: Any) -> Iterable[tuple[str, str]]:
        """Yield source and target of examples, by which the settings are fitted to little data."""
        return ()

    def check(self, data: Any, train: TrainConfig, tokenizer: TokenizerConfig, named: str) -> None:
        """Raise ModelError for settings of other kinds of input. named: preset and family."""
        for other in training_sources():
            for name in other.train:
                if getattr(train, name) and name not in self.train:
                    raise not_for(f"train.{name}", named, self.unit)
        if train.metric not in ("auto", "loss", *self.metrics):
            expected = f"{', '.join(self.metrics)} or loss"
            raise ModelError(f"metric {train.metric} for {named}", expected)

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

    def search_settings(self, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with limits that fit the training data."""
        return search

    def demonstration(self, data: Any, seed: int, folder: Path) -> Any:
        """Write the embedded data to a folder; return settings that name the files.

        They are train.tsv, dev.tsv and test.tsv, and files that these need.
        """
        if not self.demo_files:
            raise ModelError(f"no {self.unit}", "files to train on, with --train")
        if not (folder / "data").exists():  # data/ is written after these files
            usual, dev, test = self.demo_sizes
            sizes = (data.demo_size or usual, dev, test)
            for name, content in self.demo_contents(sizes, seed):
                write_bytes(folder / name, content)
        values: dict[str, Any] = {}
        for setting, name in self.demo_files.items():
            path = str(folder / name)
            values[setting] = (path,) if isinstance(getattr(data, setting), tuple) else path
        return replace(data, **values)

    def demo_contents(self, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file of the embedded data."""
        raise NotImplementedError

    def with_data(self, config: RunConfig, folder: Path) -> RunConfig:
        """Return the settings of a run; those without files name embedded data in its folder."""
        if config.data.files or not self.demo_files:
            return config
        return replace(config, data=self.demonstration(config.data, config.train.seed, folder))

    def tests(self, data: Any, files: Sequence[Path]) -> Sequence[Path]:
        """Return the files of a test set; raise ModelError for one that cannot be used."""
        return files

    def test_set(self, config: RunConfig, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set for the model of a run."""
        raise NotImplementedError

    def read_gold(self, data: Any, test: Sequence[Path], path: Path, index: Index | None) -> Any:
        """Return gold links of the words of a test set; without one, of the dev set."""
        raise ConfigurationError(f"--gold for {self.unit}", "links of one source", "leave it out")

    def error_rate(self, model: Any, texts: Any, gold: Any) -> float | None:
        """Return the alignment error rate in percent; None for a model without attention."""
        raise NotImplementedError

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


def comparison_of(family: str) -> Comparison:
    """Return the comparison of a family; raise a ModelError if its models are not compared."""
    found = training_source(family).comparison
    if found is None:
        raise ConfigurationError(f"a comparison of models of family {family}", "another family")
    return found


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


# Limits on the lengths of outputs and of whole texts, from the lengths of the training pairs.
#
# limit(S) = max_ratio S + max_extra        S source tokens, end mark included


SHARE = 0.999  # of the training pairs that fit the limit before the margin is added
MARGIN = 1.2  # factor on the lengths observed


def fit_limits(
    search: SavedSearchConfig, sources: np.ndarray, targets: np.ndarray
) -> SavedSearchConfig:
    """Return search settings whose limits fit the training pairs.

    sources, targets (N,): lengths in tokens. The limits are never below the default ones. Settings
    that differ from their defaults were set by the user, and are returned unchanged.
    """
    import numpy as np

    default = SavedSearchConfig.split_above
    if search.split_above == default and float(np.median(sources)) > default:
        search = replace(search, split_above=int(sources.max()))  # a summariser reads whole texts
    return fit_output_length(search, sources, targets)


def fit_output_length(
    search: SavedSearchConfig, sources: np.ndarray, targets: np.ndarray
) -> SavedSearchConfig:
    """Return search settings whose length limit fits the training pairs."""
    import numpy as np

    default = SavedSearchConfig()
    if (search.max_ratio, search.max_extra) != (default.max_ratio, default.max_extra):
        return search
    ratio = float(np.quantile(targets / np.maximum(sources, 1), 0.5)) * MARGIN
    ratio = max(default.max_ratio, math.ceil(10 * ratio) / 10)
    excess = float(np.quantile(MARGIN * targets - ratio * sources, SHARE))
    return replace(search, max_ratio=ratio, max_extra=max(default.max_extra, math.ceil(excess)))


# Preparation of the texts of a run: its settings, the vocabulary, and the folder of the result.
#
# The folder of the prepared data is complete or absent, with digests of its files.


FORMS = "prepare.json"
MOST_LINES = 300_000  # pairs or texts that a vocabulary is learned from; more are sampled


class Preparation(NamedTuple):
    """The settings by which the texts of a run are prepared."""

    data: Any  # a DataConfig of the kind of input
    tokenizer: TokenizerConfig
    start_from: str  # trained model whose tokenizer is used; "": one is learned
    seed: int  # of sampled lines and of examples that are held out
    longest: int  # a text in tokens; longer ones are left out


def preparation(config: RunConfig) -> Preparation:
    """Return the settings by which the texts of a run are prepared."""
    longest = min(config.data.max_length, config.model.max_source)
    return Preparation(config.data, config.tokenizer, config.start_from, config.train.seed, longest)


def prepare_folder(folder: Path, make: Callable[[Path], None]) -> None:
    """Let ``make`` fill a missing folder; compare the files of an existing one with their digests.

    Raises DamagedError for the first file that differs from its digest.
    """

    def fill(part: Path) -> None:
        make(part)
        write_digests(part)

    if folder.exists():
        check_folder(folder)
    else:
        write_folder(folder, fill)


def check_folder(folder: Path) -> None:
    """Compare the files of prepared data with their digests, if they have any."""
    hint = "restore the file, or remove the run folder to start again"
    check_digests(folder, read_digests(folder), hint)


@contextmanager
def reading(subject: str) -> Iterator[None]:
    """Report prepared data that cannot be read as a ModelError.

    subject: with its verb, such as "the tokenised corpus in runs/a/data is".
    """
    try:
        yield
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{subject} damaged ({error})",
            "files written by `attn train`",
            "remove the run folder to start again",
        ) from None


def read_made(folder: Path) -> Any:
    """Return the content of `made.json`: what was left out of the prepared data."""
    return parse_json((folder / "made.json").read_text("utf-8"))


def write_forms(
    folder: Path, start_from: str, sources: Sequence[str], targets: Sequence[str]
) -> None:
    """Store how a model of these texts prepares its sources: as the initial model, if there is one.

    Raises InputError for texts that are tokens of SentencePiece.
    """
    for texts, side in ((sources, "source"), (targets, "target")):
        check_untokenised(texts, f"the {side} text")
    if start_from:
        stored = read_settings(Path(start_from)).get("prepare", {})
    else:
        form = preparation_for(sources, targets)
        stored = to_dict(replace(form, parts=are_faithful(sources, targets)))
    write_text(folder / FORMS, json.dumps(stored))


def start_forms(start_from: str) -> PrepareConfig:
    """Return how the initial model prepares texts; without one, they stay as they are."""
    if not start_from:
        return VERBATIM
    stored = read_settings(Path(start_from)).get("prepare", {})
    return from_dict(PrepareConfig, stored, where="prepare")


def read_forms(folder: Path) -> PrepareConfig:
    """Return the preparation that `write_forms` stored; the defaults for data made before it."""
    path = folder / FORMS
    stored = parse_json(path.read_text("utf-8")) if path.exists() else {}
    return from_dict(PrepareConfig, stored, where="prepare")
