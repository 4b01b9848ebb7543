"""Comparisons by kind of input: one class per kind, named in attncli.tasks.table.

Each kind states its variants and defaults, shares its data between the runs, and scores a trained
model. Nothing here imports torch before data are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from attncli.data.dev_split import LEAST
from attncli.data.text import corpus
from attncli.scoring.score import MetricScore
from attncli.tasks.table import COMPARISONS
from models.base.errors import ConfigurationError, ModelError
from models.base.files import write_errors, write_text
from models.base.registry import source_name

if TYPE_CHECKING:
    from attncli.data.alignments import PairLinks
    from attncli.training.interfaces import FinalModel, Progress, Report
    from attncli.training.settings.config import DataConfig, RunConfig


class TestFiles(NamedTuple):
    """Files to measure the trained models on."""

    test: Sequence[Path] = ()
    gold: Path | None = None  # links of the test set, or of the dev set if there is none
    gold_index: Literal["0", "1"] | None = None

    @property
    def paths(self) -> list[Path]:
        """Return the files."""
        return [*self.test, *filter(None, [self.gold])]


class Sets(NamedTuple):
    """Dev and test set of a comparison."""

    dev: Any  # of the kind's own type
    test: Any | None
    mark: str  # hash of the content of the sets, and of the gold links
    gold: tuple[PairLinks, ...] | None = None


class Trained(NamedTuple):
    """A trained model to be measured."""

    model: Any  # as `models.load` returns it
    kept: FinalModel | None  # dev score that training measured
    config: RunConfig
    progress: Progress
    report: Report


class ModelScores(NamedTuple):
    """Scores of a trained model."""

    loss: float  # on the dev set, in nats per target token
    dev: tuple[MetricScore, ...]  # the first ranks the variants
    test: tuple[MetricScore, ...] = ()
    aer: float | None = None  # percent
    aligned_by: str = ""  # attention or diagonal; empty without AER


class ComparedSource:
    """Comparison of the models of one kind of input."""

    outputs: ClassVar[str]  # what such models produce: "translations"
    presets: ClassVar[str]  # for messages: "presets for texts"
    preset: ClassVar[str]  # that variants modify, where files are given
    demo_preset: ClassVar[str]  # the same for the embedded data
    variants: ClassVar[tuple[str, ...]]  # compared if none is named
    settings: ClassVar[tuple[str, ...]] = ()  # of every comparison; -s overrides them
    budget: ClassVar[tuple[str, ...]] = ()  # settings for the embedded data; -s overrides them
    without_attention: ClassVar[str] = ""  # family of the variant `none`; empty: there is none
    scoring: ClassVar[str]  # module:function from Trained and Sets to ModelScores; imports torch

    def prepare(
        self, data: Any, seed: int, files: TestFiles, folder: Path
    ) -> tuple[DataConfig, Sets]:
        """Return the data that all runs share; write what no file contains to the folder.

        The settings name the files for training and dev. Without a dev set, one is held out of the
        training data; it does not depend on the seeds of the runs.
        """
        raise NotImplementedError

    def scores(self, trained: Trained, sets: Sets) -> ModelScores:
        """Return the scores of a trained model."""
        return resolve_name(self.scoring)(trained, sets)


@cache
def find_compared_source(name: str) -> ComparedSource:
    """Return the comparison of a kind of input; raise a ModelError if the kind has none."""
    if name not in COMPARISONS:
        raise ConfigurationError(
            f"a comparison of models whose input is {name}", f"models for {', '.join(COMPARISONS)}"
        )
    return resolve_name(COMPARISONS[name])()


def compared_source(family: str) -> ComparedSource:
    """Return the comparison of a family; raise a ModelError if the family is unknown."""
    return find_compared_source(source_name(family))


def write_tables(folder: Path, tables: Mapping[str, str]) -> list[Path]:
    """Write tables, given as name: content, as NAME.tsv; return their absolute paths."""
    paths = [(folder / f"{name}.tsv").absolute() for name in tables]
    for path, text in zip(paths, tables.values(), strict=True):
        write_same(path, text)
    return paths


def no_dev(share: float, count: int, unit: str) -> ModelError:
    """Return the error for training data of which too few examples can be held out."""
    return ModelError(
        f"no dev set: data.dev_share = {share} of {count:,} {unit}",
        f"{LEAST} or more, which select the weights",
        "give --dev FILE, or raise data.dev_share",
    )


def write_same(path: Path, text: str) -> None:
    """Write a file; raise a ModelError if it exists with other content."""
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        write_text(path, text)
    elif path.read_text("utf-8") != text:
        raise ModelError(
            f"{path} contains data of other settings", "the same settings", "choose another -o"
        )


def mark_of(groups: Iterable[Iterable[Path | str]], more: str = "") -> str:
    """Return a hash of the content of groups of files, and of a text; see `Sets.mark`."""
    named = [list(paths) for paths in groups]
    hashes = [corpus.fingerprint(paths) for paths in named if paths]
    return hashlib.sha256(f"{hashes}{more}".encode()).hexdigest()
