"""Names of variants, and the settings of a run for each name.

dot                      a part by its name: score, window, normalise or read
mean                     a pooling of a classifier
small-cnn                an image network of a captioner
dot,local_p              parts joined by commas
score=cosine,heads=4     settings of model.attention
pointer                  a way to copy source tokens
encoder=resnet50         settings of model.image
train.attention.coverage=see,coverage=true    a name with dots is any setting
model.heads=4,lr=0.001   settings of other tables; without a section of model, then of train
none                     the same sizes without attention
transformer-tiny         a preset, with its own recipe under the same budget
none,lr=0.001            one of these two with settings
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from attncli.training.run.command_line import absolute
from attncli.training.run.configuration import check, encoder_assignments
from attncli.training.settings.config import RunConfig, TrainConfig
from attncli.training.sources import comparison_of
from models.base import registry
from models.base.errors import ConfigurationError, unknown_name
from models.base.settings import fields_of, merged, overridden
from models.catalogue import presets as zoo
from models.config import AttentionConfig, ImageConfig, ModelConfig
from models.sources import source_of

NONE = "none"
ATTENTION = "model.attention"
FAMILY = re.compile(r"(model\.)?family=")
PARTS = ("score", "window", "normalise", "read")
PLACES = {  # kind of the names that are variants alone: the setting that they are values of
    "pooling": "model.pooling",
    "image_encoder": "model.image.encoder",
    "copy": "model.copy",
    "combination": "model.combination",
    **{part: f"{ATTENTION}.{part}" for part in PARTS},
}
TABLES = {  # settings without a section: tables of model, by the setting that a family must read
    "attention": AttentionConfig,
    "image": ImageConfig,
}
BUDGET = (  # settings of [train] that a preset takes from the base
    *("steps", "epochs", "minutes", "batch_tokens", "evaluate_every", "patience"),
)


class Variant(NamedTuple):
    """A name and the settings of its run."""

    name: str
    config: RunConfig

    @property
    def folder(self) -> str:
        """The name, with characters that folder names cannot have replaced."""
        return re.sub(r"[^\w.=+-]", "-", self.name)


def variants(names: Iterable[str], base: RunConfig, assignments: Sequence[str]) -> list[Variant]:
    """Return the named variants, each once; raise a ModelError for an impossible one.

    base: the run that a name changes. assignments: settings that override those of a preset.
    """
    found: dict[str, Variant] = {}
    for name in names:
        variant = find(name, base, assignments)
        other = found.setdefault(variant.folder, variant)
        if other.name != variant.name:
            raise ConfigurationError(
                f"variants {other.name} and {name}", "names that differ in letters"
            )
    return list(found.values())


def find(name: str, base: RunConfig, assignments: Sequence[str] = ()) -> Variant:
    """Return the variant of one name."""
    first, *parts = [part.strip() for part in name.split(",")]
    if first in zoo.PRESETS:
        start, called = of_preset(first, base, assignments), [first]
    elif first == NONE and (family := comparison_of(base.model.family).without_attention):
        model = replace(base.model, family=family, attention=AttentionConfig())
        start, called = replace(base, model=model), [first]
    else:
        start, called, parts = base, [], [first, *parts]
    families = [part.partition("=")[2] for part in parts if FAMILY.match(part)]
    family = [start.model.family, *families][-1]
    settings = [setting(part, family) for part in parts]
    config = with_network(start, [f"{place}={value}" for place, value in settings])
    variant = Variant(",".join([*called, *canonical(settings)]), config)
    wanted = comparison_of(base.model.family)
    if comparison_of(config.model.family) is not wanted:
        ability = source_of(config.model.family).ability
        found = f"variant {name}, which {ability}, in a comparison of {wanted.outputs}"
        raise ConfigurationError(found, wanted.presets)
    check(config)
    return variant


def with_network(config: RunConfig, assignments: Sequence[str]) -> RunConfig:
    """Return the settings with assignments; a chosen image network brings its own settings."""
    brought = encoder_assignments(config.model.image, assignments)
    return absolute(overridden(config, [*brought, *assignments]))


def with_grid(names: Sequence[str], grid: Sequence[str]) -> list[str]:
    """Return every name with every combination of the grid's values; without names, these alone.

    grid: settings with their values, `KEY=VALUE,VALUE`.
    """
    axes = []
    for axis in grid:
        key, equals, values = axis.partition("=")
        chosen = [value.strip() for value in values.split(",")]
        if not (key.strip() and equals and all(chosen)):
            raise ConfigurationError(
                f"--grid {axis}", "KEY=VALUE,VALUE", "as in --grid train.lr=0.001,0.0005"
            )
        axes.append([f"{key.strip()}={value}" for value in chosen])
    combinations = [",".join(chosen) for chosen in itertools.product(*axes)]
    if not names or not grid:
        return list(names) or combinations
    return [f"{name},{combination}" for name in names for combination in combinations]


def of_preset(name: str, base: RunConfig, assignments: Sequence[str]) -> RunConfig:
    """Return a preset's model and training settings with the data and budget of the base."""
    chosen = zoo.preset(name)
    bare = replace(base, preset=name, model=type(base.model)(), train=TrainConfig())
    own = merged(bare, {"model": chosen.model, "train": chosen.train})
    config = with_network(own, assignments)
    budget = {key: getattr(base.train, key) for key in BUDGET}
    return replace(config, train=replace(config.train, **budget))


def setting(part: str, family: str) -> tuple[str, str]:
    """Return the setting and the value for one part of a variant's name.

    A setting without a section belongs to model if the family states it, else to model.attention or
    model.image if the family reads them, else to model, else to train.
    """
    key, equals, value = (word.strip() for word in part.partition("="))
    if equals and key not in ("attention", ATTENTION):
        return _place(key, family), value
    return _named(value or key, family)


def _named(name: str, family: str) -> tuple[str, str]:
    """Return the setting and the value for the name of a part of a model."""
    read = registry.settings_of(family)
    own = {kind: names_of(kind) for kind, place in PLACES.items() if place.split(".")[1] in read}
    for kind, names in own.items():
        if name in names:
            return PLACES[kind], name
    for kind, place in PLACES.items():
        if name in names_of(kind):
            raise ConfigurationError(
                f"variant {name} ({place}) for family {family}",
                "a family that has this setting",
                "name the data with --labels or --images, or a preset with -p",
            )
    none = [NONE] if comparison_of(family).without_attention else []
    known = itertools.chain(*own.values())
    raise unknown_name("variant", name, [*none, *known, *zoo.PRESETS])


def names_of(kind: str) -> list[str]:
    """Return the names of a kind that are variants by themselves."""
    return [name for name in registry.names(kind) if name != "torchvision"]  # a group of networks


def _place(key: str, family: str) -> str:
    """Return the whole name of a setting."""
    if key.startswith("data."):
        raise ConfigurationError(
            f"setting {key} of a variant", "the same data for all", "change it with -s"
        )
    if "." in key:
        return key
    read = registry.settings_of(family)
    if key in read and key not in TABLES:  # a Transformer's heads are not those of model.attention
        return f"model.{key}"
    tables = {f"model.{name}": table for name, table in TABLES.items() if name in read}
    tables |= {"model": ModelConfig, "train": TrainConfig}
    for section, config_class in tables.items():
        if key in fields_of(config_class):
            return f"{section}.{key}"
    known = [name for config_class in tables.values() for name in fields_of(config_class)]
    raise unknown_name("setting", key, known)


def canonical(settings: Iterable[tuple[str, str]]) -> list[str]:
    """Return the canonical names of settings, which do not depend on their order."""
    places = [*PLACES.values(), *(f"{ATTENTION}.{key}" for key in fields_of(AttentionConfig))]
    order = {place: n for n, place in enumerate(dict.fromkeys(places))}
    last = sorted(dict(settings).items(), key=lambda item: order.get(item[0], len(order)))
    return [_canonical_name(place, value) for place, value in last]


def _canonical_name(place: str, value: str) -> str:
    for kind, of_kind in PLACES.items():
        if place == of_kind and (kind in PARTS or value in names_of(kind)):
            return value
    return f"{place.removeprefix(f'{ATTENTION}.')}={value}"
