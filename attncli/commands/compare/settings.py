"""Settings that every variant of a comparison changes, from the options of the command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import typer

from attncli.commands.train.options import DEV
from attncli.jobs.compared import (
    ComparedFiles,
    ComparedSource,
    compared_source,
    find_compared_source,
)
from attncli.tasks.table import COMPARISONS
from attncli.terminal.messages import counted
from attncli.training.run.command_line import settings
from attncli.training.settings.config import RunConfig
from models.base.registry import DEFAULT_SOURCE
from models.catalogue.installed import find_model
from models.catalogue.presets import model_config
from models.storage.settings import family_of, read_settings

TRAIN, TEST, GOLD, FROM = "--train", "--test", "--gold", "--start-from"
CAPTIONS, LABELS = "--captions", "--labels"


def base_config(
    files: ComparedFiles,
    preset: str | None,
    assigned: Sequence[str],
    start: Path | None = None,
) -> RunConfig:
    """Return the settings that every variant changes. start: the initial model of all variants."""
    check_options(files)
    kind = kind_of(files, preset, start)
    has_tables = any(path.suffix == ".toml" for path in files.train)
    usual = kind.preset if files.name_data else kind.demo_preset
    of_kind = [each for each in kind.settings if not (start and each.startswith("model."))]
    defaults = [*of_kind, *(() if files.name_data else kind.budget)]
    return settings(
        files.train,
        files.dev,
        preset or (None if has_tables or start else usual),
        [*defaults, *assigned],
        start=start,
        inputs=files.inputs,
    )


def kind_of(files: ComparedFiles, preset: str | None, start: Path | None = None) -> ComparedSource:
    """Return the kind of input that the initial model, the preset or the options name.

    The default is text. Files for another kind than that of the initial model are refused.
    """
    kinds = map(find_compared_source, COMPARISONS)
    named = [kind for kind in kinds if kind.is_named(files)]
    if start:
        own = compared_source(family_of(read_settings(find_model(start))))
        if named and named[0] is not own:
            raise _refused(
                f"{start} is compared by {own.outputs}, the files by {named[0].outputs}", FROM
            )
        return own
    if preset:
        return compared_source(model_config(preset).family)
    return named[0] if named else find_compared_source(DEFAULT_SOURCE)


def check_options(files: ComparedFiles) -> None:
    """Refuse options that do not belong together."""
    pairs = [path for path in files.train if path.suffix != ".toml"]
    if len(pairs) > 2:
        raise _refused(
            f"{counted(len(pairs), 'file')}; variants are named before the options", TRAIN
        )
    given = {TRAIN: files.train, CAPTIONS: files.inputs.captions, LABELS: files.inputs.labels}
    data = [option for option, value in given.items() if value]
    if len(data) > 1:
        raise _refused(f"cannot be combined with {data[0]}", data[1])
    if files.train and not files.dev:
        raise _refused("missing: the pairs to compare on, two files or a table", DEV)
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
