"""Configuration of a run, and the settings that have an effect in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from attncli.training.config import RunConfig
from attncli.training.sources import kinds_with, not_for, source_of_run
from models.core.errors import ConfigurationError
from models.core.settings import (
    Values,
    assigned,
    check_limits,
    check_needs,
    fields_of,
    flat,
    leave_out,
    merged,
    nested,
    over,
    overridden,
    to_dict,
    value_at,
)
from models.core.sources import source_of
from models.storage.presets import preset as find_preset

# settings that only an option gives
OPTIONS = {"preset": "--preset NAME", "start_from": "--start-from MODEL"}


def preset_config(name: str) -> RunConfig:
    """Return the settings of a preset."""
    chosen = find_preset(name)
    return merged(RunConfig(preset=name), {"model": chosen.model, "train": chosen.train})


def run_config(
    preset: str, values: Mapping[str, object] | None = None, assignments: Iterable[str] = ()
) -> RunConfig:
    """Return the settings of a run; later sources override earlier ones.

    preset: its name; values: tables of a TOML file; assignments: `section.key=value` strings.
    """
    config, values, assignments = preset_config(preset), values or {}, list(assignments)
    for name, option in OPTIONS.items():
        if any(text.partition("=")[0].strip() == name for text in assignments):
            raise ConfigurationError(f"{name} given with -s", option)
    named = [text for text in assignments if text.strip().startswith("model.")]
    given = {"model": values["model"]} if "model" in values else {}
    config = config.of_kind(overridden(config, named, given, stored=True).model.family)
    own = fields_of(type(config.data))
    for name in data_names(values, assignments):
        first = name.partition(".")[0]
        # another kind of input is not imported before one of its settings is given
        if first not in own and (others := kinds_with([first])):
            source, units = source_of_run(config), [other.unit for other in others]
            raise not_for(f"data.{name}", source.named, source.unit, units)
    config = overridden(config, assignments, values, stored=True)
    check_limits(config)
    source_of_run(config).check()
    return config


def data_names(values: Mapping[str, object], assignments: Iterable[str]) -> list[str]:
    """Return the names of the settings of [data] in tables of a TOML file and assignments."""
    table = values.get("data", {})
    places = [text.partition("=")[0].strip() for text in assignments]
    own = [place.removeprefix("data.") for place in places if place.startswith("data.")]
    return [*(flat(table) if isinstance(table, Mapping) else ()), *own]


def check_effects(
    config: RunConfig, tables: Mapping[str, object], assignments: Iterable[str]
) -> None:
    """Raise ModelError for a setting of the user that changes nothing in a run.

    tables: of a TOML file, which may list every setting: one with the value of the preset, or with
    its default, is accepted. assignments: `section.key=value` strings.
    """
    family, usual = config.model.family, preset_config(config.preset)
    usual = usual.of_kind(family)
    given = over(_changed(tables, config, usual), assigned(assignments))
    merged(config, given)  # refuses a setting of another family or part
    check_needs(config, usual, flat(given))
    for place in flat(given):
        if any(f"{place}.".startswith(f"{one}.") for one in source_of(family).unused_settings):
            found = f"{place} has no effect on family {family}"
            raise ConfigurationError(found, *leave_out(place))


def _changed(tables: Mapping[str, object], config: RunConfig, usual: RunConfig) -> Values:
    """Return the values of tables that are neither those of the preset nor the defaults."""
    defaults: Values = {}
    for kind in RunConfig.kinds() if tables else ():  # of all families and kinds of input
        defaults |= flat(to_dict(kind))
    found: Values = {}
    for place, value in flat(tables).items():
        known = (value_at(usual, place), defaults.get(place))
        if value not in [[*one] if isinstance(one, tuple) else one for one in known]:
            found = over(found, nested(place, value))
    return found
