"""Settings that every variant of a comparison changes, from the options of the command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import typer

from attncli.commands.compare_options import GOLD, NANO, PRESET, TEST, TRAIN
from attncli.commands.train_files import DEV
from attncli.jobs.variants import LITERATURE
from attncli.plurals import counted
from attncli.training.config import RunConfig
from attncli.training.settings import LabelFiles, settings
from attncli.training.sources import training_source
from models.registry import names as registered_names
from models.zoo import model_config

ONE_WAY = "model.bidirectional=false"  # dot, scaled_dot and cosine need keys of the query's size
MINUTE = (  # default budget for the embedded grammar
    *("train.batch_tokens=2048", "train.steps=1000", "train.evaluate_every=250"),
    "train.patience=0",
)


class Measured(NamedTuple):
    """Test set and gold links given on the command line."""

    test: list[Path]
    gold: Path | None
    gold_index: Literal["0", "1"] | None


def base_config(
    train: list[Path], dev: list[Path], measured: Measured, preset: str | None, assigned: list[str]
) -> RunConfig:
    """Return the settings that every variant changes."""
    pairs = [path for path in train if path.suffix != ".toml"]
    if len(pairs) > 2:
        raise typer.BadParameter(
            f"{counted(len(pairs), 'file')}; variants are named before the options",
            param_hint=f"'{TRAIN}'",
        )
    if train and not dev:
        raise typer.BadParameter("needed to compare on", param_hint=f"'{DEV}'")
    for option, given in ((TEST, measured.test), (GOLD, measured.gold)):
        if given and not train:
            raise typer.BadParameter(f"needs {TRAIN}", param_hint=f"'{option}'")
    if measured.gold_index and not measured.gold:
        raise typer.BadParameter(f"needs {GOLD}", param_hint="'--gold-index'")
    if not train:
        name = preset or NANO
        scores = training_source(model_config(name).family).compared == "score"
        return settings([], [], name, [*([ONE_WAY, *MINUTE] if scores else []), *assigned])
    chosen = preset or (PRESET if len(pairs) == len(train) else None)
    return settings(train, dev, chosen, [ONE_WAY, *assigned])


def label_config(
    files: LabelFiles,
    train: list[Path],
    measured: Measured,
    preset: str | None,
    assigned: list[str],
) -> RunConfig:
    """Return the settings that every pooling changes, for labelled texts."""
    if train or measured.gold:
        raise typer.BadParameter("cannot be combined with --labels", param_hint=f"'{TRAIN}'")
    if len(measured.test) > 1:
        raise typer.BadParameter("one table of label, tab, text", param_hint=f"'{TEST}'")
    return settings([], [], preset, assigned, labels=files)


def default_names(base: RunConfig) -> Sequence[str]:
    """Return the variants that are compared if none is named."""
    return registered_names("pooling") if has_labels(base) else LITERATURE


def has_labels(base: RunConfig) -> bool:
    """Return True if classifiers are compared."""
    return training_source(base.model.family).compared == "pooling"
