"""The configuration of a run: a preset, the tables of a TOML file and assignments, checked.

The image network of a new captioner is a chosen one with its own settings, or the shipped one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from attncli.training.settings.config import RunConfig
from attncli.training.sources import not_for, training_source, training_sources
from models.base.errors import ConfigurationError
from models.base.settings import check_limits, fields_of, merged, overridden
from models.catalogue.installed import BOX, DEFAULTS
from models.catalogue.presets import preset as find_preset
from models.config import ImageConfig

ENCODER = "model.image.encoder="


def run_config(
    preset: str, values: Mapping[str, Any] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """Return the settings of a run; later sources override earlier ones.

    preset: its name; values: tables of a TOML file; assignments: `section.key=value` strings.
    """
    chosen, values, assignments = find_preset(preset), values or {}, list(assignments)
    config = merged(RunConfig(preset=preset), {"model": chosen.model, "train": chosen.train})
    named = [text for text in assignments if text.strip().startswith("model.")]
    given = {"model": values["model"]} if "model" in values else {}
    config = config.of_kind(overridden(merged(config, given), named).model.family)
    check_names(config, data_names(values, assignments))
    config = overridden(merged(config, values), assignments)
    check(config)
    return config


def data_names(values: Mapping[str, Any], assignments: Iterable[str]) -> list[str]:
    """Return the names of the settings of [data] in tables of a TOML file and assignments."""
    table = values.get("data", {})
    places = [text.partition("=")[0].strip() for text in assignments]
    own = [place.removeprefix("data.") for place in places if place.startswith("data.")]
    return [*(table if isinstance(table, Mapping) else ()), *own]


def check_names(config: RunConfig, names: Iterable[str]) -> None:
    """Raise ModelError for a setting of [data] that only another kind of input has."""
    family = config.model.family
    own, others = fields_of(type(config.data)), [fields_of(one.data) for one in training_sources()]
    for name in names:
        if name not in own and any(name in other for other in others):
            named = f"preset {config.preset} (family {family})"
            raise not_for(f"data.{name}", named, training_source(family).unit)


def image_settings(preset: str, values: Mapping[str, Any]) -> ImageConfig:
    """Return the settings of the image network in a preset and the tables of a TOML file."""
    config = merged(RunConfig(preset=preset), {"model": find_preset(preset).model})
    return merged(config, {"model": values.get("model", {})}).model.image


def check(config: RunConfig) -> None:
    """Raise ConfigurationError for settings out of range or in conflict with each other."""
    check_limits(config)
    train, data, family = config.train, config.data, config.model.family
    named = f"preset {config.preset} (family {family})"
    training_source(family).check(data, train, config.tokenizer, named)
    stops_early = train.patience and (data.has_dev or not data.is_given)
    if not (train.steps or train.epochs or train.minutes or stops_early):
        seen = (
            "train.steps, train.epochs and train.minutes are 0, and no patience with a dev set "
            "ends the run"
        )
        raise ConfigurationError(seen, "an end")


def encoder_assignments(preset: ImageConfig, assignments: Iterable[str]) -> list[str]:
    """Return the assignments that an image network other than the preset's brings with it.

    Grid, image size and weights of the preset belong to its own network, so they do not
    apply to another. preset: settings before the assignments. The result precedes them.
    """
    texts = [text.strip() for text in assignments]
    given = [text.removeprefix(ENCODER) for text in texts if text.startswith(ENCODER)]
    if not given or given[-1] == preset.encoder:
        return []
    from models.encoders.image import kind_of  # imports torch

    usual = kind_of(given[-1]).usual
    values = {"grid": "", "size": usual.size, "weights": usual.weights}
    return [f"model.image.{name}={value}" for name, value in values.items()]


def names_shipped_network(image: ImageConfig) -> bool:
    """Return True if the image network is that of the shipped captioner."""
    return (image.encoder, image.weights) == (ImageConfig.encoder, ImageConfig.weights)


def start_advice(image: ImageConfig, start_from: str) -> tuple[str, ...]:
    """Return a line that names the shipped captioner as a start, if only its network is used."""
    name = DEFAULTS["caption"]
    if start_from or not names_shipped_network(image) or not (BOX / name).exists():
        return ()
    return (
        f"image network: that of the shipped model {name}; with few images, "
        f"--start-from {name} starts from its decoder and vocabulary too",
    )
