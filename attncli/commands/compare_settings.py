"""Settings that every variant of a comparison changes, from the options of the command."""

from __future__ import annotations

from collections.abc import Sequence

import typer

from attncli.commands.compare_options import CAPTIONS, GOLD, LABELS, TEST, TRAIN
from attncli.commands.train_files import DEV
from attncli.jobs.compared import compared_source, compared_sources
from attncli.jobs.compared.base import ComparedFiles, ComparedSource
from attncli.plurals import counted
from attncli.training.config import RunConfig
from attncli.training.settings import settings
from models.zoo import model_config


def base_config(files: ComparedFiles, preset: str | None, assigned: Sequence[str]) -> RunConfig:
    """Return the settings that every variant changes."""
    check_options(files)
    kind = kind_of(files, preset)
    has_tables = any(path.suffix == ".toml" for path in files.train)
    usual = kind.preset if files.name_data else kind.demo_preset
    defaults = [*kind.settings, *(() if files.name_data else kind.budget)]
    return settings(
        files.train,
        files.dev,
        preset or (None if has_tables else usual),
        [*defaults, *assigned],
        images=files.images,
        labels=files.labels,
    )


def kind_of(files: ComparedFiles, preset: str | None) -> ComparedSource:
    """Return the kind of input that options or the preset name; the default is text."""
    kinds = compared_sources()
    named = [kind for kind in kinds if kind.is_named(files)]
    if not named and preset:
        return compared_source(model_config(preset).family)
    return [*named, *kinds][0]


def check_options(files: ComparedFiles) -> None:
    """Refuse options that do not belong together."""
    pairs = [path for path in files.train if path.suffix != ".toml"]
    if len(pairs) > 2:
        raise _refused(
            f"{counted(len(pairs), 'file')}; variants are named before the options", TRAIN
        )
    given = {TRAIN: files.train, CAPTIONS: files.images.captions, LABELS: files.labels.labels}
    data = [option for option, value in given.items() if value]
    if len(data) > 1:
        raise _refused(f"cannot be combined with {data[0]}", data[1])
    if files.train and not files.dev:
        raise _refused("needed to compare on", DEV)
    if files.test and not data:
        raise _refused(f"needs {TRAIN}, {CAPTIONS} or {LABELS}", TEST)
    if len(files.test) > 1 and not files.train:
        raise _refused(f"{counted(len(files.test), 'file')} with {data[0]}, expected one", TEST)
    if files.gold and not files.train:
        raise _refused(f"needs {TRAIN}", GOLD)
    if files.gold_index and not files.gold:
        raise _refused(f"needs {GOLD}", "--gold-index")


def _refused(message: str, option: str) -> typer.BadParameter:
    return typer.BadParameter(message, param_hint=f"'{option}'")
