"""Settings that every variant of a comparison changes, from the options of the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import typer

from attncli.jobs.compared import (
    ComparedSource,
    TestFiles,
    compared_source,
    find_compared_source,
)
from attncli.terminal.messages import counted
from attncli.training.run.command_line import settings
from attncli.training.settings.config import RunConfig
from attncli.training.sources import named_kind
from models.base.registry import DEFAULT_SOURCE
from models.catalogue.installed import find_model
from models.catalogue.presets import model_config
from models.storage.settings import family_of, read_settings

TRAIN, TEST, GOLD, FROM = "--train", "--test", "--gold", "--start-from"
CAPTIONS, LABELS = "--captions", "--labels"


class ComparedData(NamedTuple):
    """Files given on the command line."""

    train: Sequence[Path] = ()
    dev: Sequence[Path] = ()
    inputs: Mapping[str, Path] = MappingProxyType({})  # by their settings in [data]
    tests: TestFiles = TestFiles()

    @property
    def pairs(self) -> list[Path]:
        """The training files of pairs or rows, without a file of settings."""
        return [path for path in self.train if path.suffix != ".toml"]


def base_config(
    files: ComparedData,
    preset: str | None,
    assigned: Sequence[str],
    start: Path | None = None,
) -> RunConfig:
    """Return the settings that every variant changes. start: the initial model of all variants."""
    check_options(files)
    kind = kind_of(files, preset, start)
    has_tables = len(files.pairs) < len(files.train)
    is_given = bool(files.train or files.inputs)
    usual = kind.preset if is_given else kind.demo_preset
    of_kind = [each for each in kind.settings if not (start and each.startswith("model."))]
    return settings(
        files.train,
        files.dev,
        preset or (None if has_tables or start else usual),
        [*of_kind, *(() if is_given else kind.budget), *assigned],
        start=start,
        inputs=files.inputs,
    )


def kind_of(files: ComparedData, preset: str | None, start: Path | None = None) -> ComparedSource:
    """Return the kind of input that the initial model, the preset or the options name.

    The default is text. Files for another kind than that of the initial model are refused.
    """
    names = [*files.inputs, *(["train"] if files.train else [])]
    found = named_kind(names)
    named = find_compared_source(found) if found else None
    if start:
        own = compared_source(family_of(read_settings(find_model(start))))
        if named and named is not own:
            raise _refused(
                f"{start} is compared by {own.outputs}, the files by {named.outputs}", FROM
            )
        return own
    if preset:
        return compared_source(model_config(preset).family)
    return named or find_compared_source(DEFAULT_SOURCE)


def check_options(files: ComparedData) -> None:
    """Refuse options that do not belong together."""
    if len(files.pairs) > 2:
        raise _refused(
            f"{counted(len(files.pairs), 'file')}; variants are named before the options", TRAIN
        )
    given = {
        TRAIN: files.train,
        CAPTIONS: "captions" in files.inputs,
        LABELS: "labels" in files.inputs,
    }
    data = [option for option, value in given.items() if value]
    test, gold, gold_index = files.tests
    if len(data) > 1:
        raise _refused(f"cannot be combined with {data[0]}", data[1])
    if test and not data:
        raise _refused(f"needs {TRAIN}, {CAPTIONS} or {LABELS}", TEST)
    if len(test) > 1 and not files.train:
        raise _refused(f"{counted(len(test), 'file')} with {data[0]}, expected one", TEST)
    if gold and not files.train:
        raise _refused(f"needs {TRAIN}", GOLD)
    if gold_index and not gold:
        raise _refused(f"needs {GOLD}", "--gold-index")


def _refused(message: str, option: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=f"'{option}'")
