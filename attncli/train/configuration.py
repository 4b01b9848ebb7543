"""Configuration of a run, and the settings that have an effect in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attncli.task.table import TRAINING
from attncli.training.config import RunConfig
from attncli.training.sources import find_training_source, not_for, source_of_run
from models.core.errors import ConfigurationError
from models.core.settings import check_limits, fields_of, merged, overridden
from models.core.sources import source_of
from models.storage.presets import preset as find_preset

NEEDS: Mapping[str, tuple[str, Callable[[RunConfig], Any]]] = {  # for an effect
    **dict.fromkeys(
        ("data.replay", "data.temperature"), ("languages (--corpus)", lambda run: run.data.corpora)
    ),
    "data.demo_size": ("the embedded data", lambda run: not run.data.is_given),
    "train.plateau_patience": (
        "train.schedule=plateau",
        lambda run: run.train.schedule == "plateau",
    ),
    "train.encoder_lr": ("train.encoder_from", lambda run: run.train.encoder_from),
    "train.self_critical_likelihood": (
        "train.self_critical_lr",
        lambda run: run.train.self_critical_lr,
    ),
}


def run_config(
    preset: str, values: Mapping[str, object] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """Return the settings of a run; later sources override earlier ones.

    preset: its name; values: tables of a TOML file; assignments: `section.key=value` strings.
    """
    chosen, values, assignments = find_preset(preset), values or {}, list(assignments)
    config = merged(RunConfig(preset=preset), {"model": chosen.model, "train": chosen.train})
    named = [text for text in assignments if text.strip().startswith("model.")]
    given = {"model": values["model"]} if "model" in values else {}
    config = config.of_kind(overridden(config, named, given, stored=True).model.family)
    own = fields_of(type(config.data))
    others = [name for name in data_names(values, assignments) if name not in own]
    # another kind of input is not imported before one of its settings is given
    tables = [find_training_source(kind).table for kind in TRAINING if others]
    for name in others:
        if any(name in fields_of(table) for table in tables):
            source = source_of_run(config)
            raise not_for(f"data.{name}", source.named, source.unit)
    config = overridden(config, assignments, values, stored=True)
    check_limits(config)
    source_of_run(config).check()
    return config


def data_names(values: Mapping[str, object], assignments: Iterable[str]) -> list[str]:
    """Return the names of the settings of [data] in tables of a TOML file and assignments."""
    table = values.get("data", {})
    places = [text.partition("=")[0].strip() for text in assignments]
    own = [place.removeprefix("data.") for place in places if place.startswith("data.")]
    return [*(table if isinstance(table, Mapping) else ()), *own]


def check_effect(assignment: str, config: RunConfig) -> None:
    """Raise ModelError for an assignment of the user that changes nothing in a run."""
    overridden(config, [assignment])  # refuses a setting of another family or part
    setting = assignment.partition("=")[0].strip()
    parts, family = setting.split("."), config.model.family
    tables = {".".join(parts[: end + 1]) for end in range(len(parts))}
    unused = tables.intersection(source_of(family).unused_settings)
    reason = f"{setting} has no effect on family {family}" if unused else ""
    needed, has_effect = NEEDS.get(setting, ("", lambda run: True))
    table, _, name = setting.partition(".")
    unset = needed and getattr(getattr(RunConfig(), table), name, None)
    if needed and getattr(getattr(config, table), name) != unset and not has_effect(config):
        reason = f"{setting} has no effect without {needed}"
    if reason:
        raise ConfigurationError(reason, "settings that the run reads", f"leave out {setting}")
