"""Kinds of input in training: what each is called, its settings, its data."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from attncli.data import corpus
from attncli.task.table import TRAINING
from attncli.training.config import RunConfig, TrainConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.files import write_bytes
from models.core.registry import source_name
from models.core.settings import fields_of, need_of
from models.core.use_config import SavedSearchConfig

if TYPE_CHECKING:
    from attncli.data.alignments import Index, PairLinks
    from attncli.training.config import DataConfig
    from attncli.training.dev import Data, DevSet
    from attncli.training.examples import Examples
    from attncli.training.interfaces import Progress
    from models.core.types import VocabularySizes


Sizes = tuple[int, int, int]  # examples of train, dev and test
ON_ALL = "or train on all with -s data.dev_share=0"


class Comparison(NamedTuple):
    """Comparison of the models of one kind of input, by `attn models compare`."""

    outputs: str  # what such models produce: "translations"
    preset: str  # that variants modify, where files are given
    variants: tuple[str, ...]  # compared if none is named
    metrics: Mapping[str, str]  # fields of Scores: their names in QUALITY; the first ranks variants
    demo_preset: str = ""  # that variants modify, on the embedded data; "": the same
    settings: tuple[str, ...] = ()  # of every comparison; -s overrides them
    budget: tuple[str, ...] = ()  # settings for the embedded data; -s overrides them
    without_attention: str = ""  # family of the variant `none`; empty: there is none


class TrainingSource:
    """One kind of input in training: its description, and the data of a run.

    An object has the tables of settings of its run. Methods of the class need no run.
    """

    module: ClassVar[str]  # its functions `load` and `test_set` import torch
    unit: ClassVar[str]  # plural name of the examples: "sentence pairs"
    dev_unit: ClassVar[str] = ""  # plural name of the sources of a dev set; "": as unit
    vocabulary: ClassVar[tuple[str, str]] = ("{target:,} tokens",) * 2  # sizes: two of them; joint
    length_limits: ClassVar[str] = "data.max_length"  # settings that exclude long examples
    demo_name: ClassVar[str] = "demo"  # name of the embedded data; also the default run folder
    demo_sizes: ClassVar[Sizes] = (0, 0, 0)  # of the embedded data
    demo_files: ClassVar[Mapping[str, str]] = {}  # settings of [data] that name embedded data
    embedded: ClassVar[str] = "no data"  # description of the embedded data, for the model card
    default_preset: ClassVar[str]  # preset where the data are of this kind and none is named
    example_input: ClassVar[str]  # command that uses a model, up to `-m MODEL`; {}: a text
    table: ClassVar[type[DataConfig]]  # the table [data] of this kind
    settings: ClassVar[tuple[str, ...]] = ()  # of TrainConfig, declared with of_some
    by_preset: ClassVar[bool] = False  # True: only the preset tells this kind from another
    # besides loss
    metrics: ClassVar[tuple[str, ...]] = ("bleu", "exact", "error_rate", "rouge_l", "chrf", "ter")
    fine_tuning_rate: ClassVar[float] = 0.0001  # peak learning rate of a trained model
    comparison: ClassVar[Comparison | None] = None  # None: such models are not compared

    def __init__(self, run: RunConfig) -> None:
        self.data: DataConfig = run.data
        self.model, self.tokenizer, self.train = run.model, run.tokenizer, run.train
        self.start_from, self.search = run.start_from, run.search
        self.named = f"preset {run.preset} (family {run.model.family})"  # for messages

    @classmethod
    def preset_for(cls, data: Mapping[str, object]) -> str:
        """Return the preset where none is named. data: the settings of [data]."""
        return cls.default_preset

    @classmethod
    def inputs(cls) -> str:
        """Return what a command line gives to train on: "--audio and --transcripts"."""
        name = cls.table.PARTS["train"]
        if name == "train":
            return f"files of {cls.unit}"
        need = need_of(cls.table(), name)
        needed = [need.place.removeprefix("data.")] if need else []
        return " and ".join(f"--{each}" for each in (*needed, name))

    @classmethod
    def fingerprints(cls, data: DataConfig) -> dict[str, str]:
        """Return a hash of the content of each part of the data, by name."""
        parts = {part: data.named(name) for part, name in data.PARTS.items()}
        found = {part: corpus.fingerprint(paths) for part, paths in parts.items() if any(paths)}
        return {"train": "", "dev": "", **found}

    @classmethod
    def shipped_weights(cls, config: object) -> dict[str, str]:
        """Return a hash, by name, of the shipped weights that a new model starts from."""
        return {}

    def demonstrate(self, folder: Path) -> None:
        """Write the embedded data to a folder, and use them.

        They are train.tsv, dev.tsv and test.tsv, and files that these need.
        """
        if not self.demo_files:
            raise ModelError(f"no {self.unit}", "files to train on, with --train")
        if not (folder / "data").exists():  # data/ is written after these files
            usual, dev, test = self.demo_sizes
            sizes = (self.data.demo_size or usual, dev, test)
            for name, content in self.demo_contents(sizes, self.train.seed):
                write_bytes(folder / name, content)
        values: dict[str, Any] = {}
        for setting, name in self.demo_files.items():
            path = str(folder / name)
            values[setting] = (path,) if isinstance(getattr(self.data, setting), tuple) else path
        self.data = replace(self.data, **values)

    @classmethod
    def demo_contents(cls, sizes: Sizes, seed: int) -> Iterator[tuple[str, bytes]]:
        """Yield name and content of each file of the embedded data."""
        raise NotImplementedError

    def tests(self, files: Sequence[Path]) -> Sequence[Path]:
        """Return the files of a test set; raise ModelError for one that cannot be used."""
        deque(self.data.rows(files, "test") if files else (), 0)
        return files

    def read_gold(
        self, test: Sequence[Path], path: Path, index: Index | None
    ) -> Sequence[PairLinks]:
        """Return gold links of the words of a test set; without one, of the dev set."""
        raise ConfigurationError(f"--gold for {self.unit}", "links of one source", "leave it out")

    @classmethod
    def search_settings(cls, search: SavedSearchConfig, examples: Examples) -> SavedSearchConfig:
        """Return the search settings with limits that fit the training data."""
        return search

    @classmethod
    def describe_vocabulary(cls, sizes: VocabularySizes) -> str:
        """Return the vocabulary sizes of a model as text."""
        return cls.vocabulary[sizes.joint].format(source=sizes.source, target=sizes.target)

    @property
    def longest(self) -> int:
        """The longest side of an example in tokens."""
        return min(self.data.max_length, self.model.max_source)

    def check(self) -> None:
        """Raise ModelError for settings of other kinds of input, or in conflict with each other."""
        for name, declared in fields_of(TrainConfig).items():
            is_missing = declared.metadata.get("of_some") and name not in self.settings
            if is_missing and getattr(self.train, name):
                others = (find_training_source(kind) for kind in TRAINING)
                read_by = [one.unit for one in others if name in one.settings]
                raise not_for(f"train.{name}", self.named, self.unit, read_by)
        for name in self.data.paths():
            need = need_of(self, f"data.{name}")
            if need and getattr(self.data, name) and not need.is_met(self):
                option = need.place.removeprefix("data.")
                raise ModelError(f"data.{name} without {need}", "both", f"give --{option} too")
        if self.train.metric not in ("auto", "loss", *self.metrics):
            expected = f"{', '.join(self.metrics)} or loss"
            raise ModelError(f"metric {self.train.metric} for {self.named}", expected)

    def loaded(self, folder: Path, progress: Progress) -> Data:
        """Return the run's data; prepare them in the run folder the first time.

        A run without files has embedded data, which are written to its folder.
        """
        if not self.data.files and self.demo_files:
            self.demonstrate(folder)
        found = self.load(folder, progress)
        if not found.dev or self.data.dev_files:
            return found
        what = f"{len(found.dev):,} {self.dev_unit or self.unit} held out of the training data"
        remark = f"dev set: {what}; name another with {self.data.dev_option}, {ON_ALL}"
        return found._replace(remarks=(*found.remarks, remark))

    def load(self, folder: Path, progress: Progress) -> Data:
        """Return the data that the settings name; see `loaded`."""
        found: Data = import_module(self.module).load(self, folder, progress)
        return found

    def test_set(self, files: Sequence[Path], progress: Progress) -> DevSet:
        """Return a test set for the model of the run."""
        found: DevSet = import_module(self.module).test_set(self, files, progress)
        return found


def not_for(setting: str, named: str, unit: str, others: Iterable[str]) -> ModelError:
    """Return the error for a setting of other kinds of input.

    named: preset and family. unit: plural name of their examples. others: those of kinds with the
    setting.
    """
    found = f"{setting} has no effect on {unit}, the examples of {named}"
    return ModelError(found, " or ".join(others), "leave it out, or choose another preset")


def kinds_with(names: Iterable[str]) -> list[type[TrainingSource]]:
    """Return the kinds of input whose table [data] has one of some settings."""
    every = map(find_training_source, TRAINING)
    return [source for source in every if fields_of(source.table).keys() & {*names}]


@cache
def find_training_source(name: str) -> type[TrainingSource]:
    """Return the training source of a kind of input."""
    found: type[TrainingSource] = resolve_name(TRAINING[name])
    return found


def training_source(family: str) -> type[TrainingSource]:
    """Return the training source of a family; a ModelError if the family is unknown."""
    return find_training_source(source_name(family))


def source_of_run(run: RunConfig) -> TrainingSource:
    """Return the training source of a run, with its settings."""
    return training_source(run.model.family)(run)


def named_kind(names: Iterable[str]) -> str:
    """Return the kind of input whose table [data] has most of these settings; "" without files.

    Of several, the first in the table of tasks.
    """
    given, found, most = set(names), "", 0
    for kind in TRAINING:
        source = find_training_source(kind)
        paths = {*source.table.PARTS.values(), *source.table.FOLDERS}
        matches = 0 if source.by_preset else len(given & paths)
        if matches > most:
            found, most = kind, matches
        if most == len(given):  # the other kinds need not be imported
            break
    return found
