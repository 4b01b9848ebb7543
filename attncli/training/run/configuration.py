"""The configuration of a run: a preset, the tables of a TOML file and assignments, checked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attncli.training.settings.config import RunConfig
from attncli.training.sources import training_source
from models.base.errors import ConfigurationError
from models.base.settings import check_limits, merged, overridden
from models.catalogue.presets import preset as find_preset
from models.config.tables import ImageConfig


def run_config(
    preset: str, values: Mapping[str, Any] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """Return the settings of a run; later sources override earlier ones.

    preset: its name; values: tables of a TOML file; assignments: `section.key=value` strings.
    """
    chosen = find_preset(preset)
    config = merged(RunConfig(preset=preset), {"model": chosen.model, "train": chosen.train})
    config = overridden(merged(config, values or {}), assignments)
    check(config)
    return config


def image_settings(preset: str, values: Mapping[str, Any]) -> ImageConfig:
    """Return the settings of the image network in a preset and the tables of a TOML file."""
    config = merged(RunConfig(preset=preset), {"model": find_preset(preset).model})
    return merged(config, values).model.image


def check(config: RunConfig) -> None:
    """Raise ConfigurationError for settings out of range or in conflict with each other."""
    check_limits(config)
    train, data, family = config.train, config.data, config.model.family
    named = f"preset {config.preset} (family {family})"
    training_source(family).check(config, named)
    stops_early = train.patience and (data.has_dev or not data.is_given)
    if not (train.steps or train.epochs or train.minutes or stops_early):
        seen = (
            "train.steps, train.epochs and train.minutes are 0, and no patience with a dev set "
            "ends the run"
        )
        raise ConfigurationError(seen, "an end")
