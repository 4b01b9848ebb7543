"""Names of variants, and the settings of a run for each name.

dot                      a part by its name: score, window, normalise or read
mean                     a pooling of a classifier
dot,local_p              parts joined by commas
score=cosine,heads=4     settings of model.attention
train.attention.coverage=see,coverage=true    a name with dots is any setting
model.heads=4,lr=0.001   settings of other tables; without a section of model, then of train
none                     the same sizes without attention
transformer-tiny         a preset, with its own recipe under the same budget
none,lr=0.001            settings of these
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from attncli.training.config import RunConfig, TrainConfig, check
from models import registry, zoo
from models.config import AttentionConfig, ModelConfig
from models.errors import ConfigurationError, unknown_name
from models.settings import fields_of, merged, overridden
from models.sources import find_source, source_of

NONE = "none"
PARTS = ("score", "window", "normalise", "read")
POOLING = "model.pooling"
CLASSIFIERS = ("classifier", "classifier-transformer")
ATTEND = ("rnnsearch", "luong", *CLASSIFIERS)  # families whose attention can be chosen
BUDGET = (  # settings of [train] that a preset takes from the base
    *("steps", "epochs", "minutes", "batch_tokens", "accumulate", "evaluate_every", "patience"),
)
LITERATURE = (  # Luong et al. 2015, table 4, and what came before and after
    *(NONE, "location", "dot", "general", "concat", "additive", "cosine", "scaled_dot"),
    *("location_aware", "dot,local_m", "general,local_m", "dot,local_p", "general,local_p"),
    *("hard", "sparsemax", "entmax15", "heads=4"),
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
    elif first == NONE and base.model.family not in CLASSIFIERS:
        model = replace(base.model, family="seq2seq", attention=AttentionConfig())
        start, called = replace(base, model=model), [first]
    else:
        start, called, parts = base, [], [first, *parts]
    settings = [setting(part, family_in(parts, start.model.family), start) for part in parts]
    config = overridden(start, [f"{place}={value}" for place, value in settings])
    variant = Variant(",".join([*called, *canonical(settings)]), config)
    check_task(name, config, base)
    check(config)
    return variant


def check_task(name: str, config: RunConfig, base: RunConfig) -> None:
    """Raise ConfigurationError unless a variant does what the base does, and it is compared."""
    wanted = source_of(base.model.family)
    if wanted.task not in ("translate", "classify"):
        wanted = find_source("text")
    for preset, compared in ((base.preset, base), (name, config)):
        source = source_of(compared.model.family)
        if source.task != wanted.task:
            kind = "translations" if wanted.task == "translate" else "labels"
            raise ConfigurationError(
                f"preset {preset}, which {source.ability}, in a comparison of {kind}",
                "presets for texts" if wanted.task == "translate" else "presets of classifiers",
            )


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


def family_in(parts: Iterable[str], family: str) -> str:
    """Return the family that parts of a name set, else the given one."""
    found = [part.partition("=") for part in parts]
    named = [value for key, _, value in found if key in ("family", "model.family")]
    return named[-1] if named else family


def of_preset(name: str, base: RunConfig, assignments: Sequence[str]) -> RunConfig:
    """Return a preset's model and training settings with the data and budget of the base."""
    chosen = zoo.preset(name)
    bare = replace(base, preset=name, model=type(base.model)(), train=TrainConfig())
    own = merged(bare, {"model": chosen.model, "train": chosen.train})
    config = overridden(own, assignments)
    budget = {key: getattr(base.train, key) for key in BUDGET}
    return replace(config, train=replace(config.train, **budget))


def setting(part: str, family: str, base: RunConfig) -> tuple[str, str]:
    """Return the setting and the value for one part of a variant's name.

    A setting without a section belongs to model.attention if the family's attention can be chosen,
    else of model, else of train.
    """
    key, equals, value = part.partition("=")
    if equals:
        return _place(key.strip(), family), value.strip()
    if family in CLASSIFIERS and part in registry.names("pooling"):
        return POOLING, part
    if family not in ATTEND and any(part in registry.names(kind) for kind in PARTS):
        raise ConfigurationError(
            f"variant '{part}' in preset {base.preset} of family {family}",
            f"a family whose attention can be chosen, {' or '.join(ATTEND)}",
            "choose another --preset",
        )
    for kind in PARTS:
        if part in registry.names(kind):
            return f"model.attention.{kind}", part
    kinds = ("pooling", *PARTS) if family in CLASSIFIERS else PARTS
    known = [name for kind in kinds for name in registry.names(kind)]
    none = [] if family in CLASSIFIERS else [NONE]
    raise unknown_name("variant", part, [*none, *known, *zoo.PRESETS])


def _place(key: str, family: str) -> str:
    """Return the whole name of a setting."""
    if key.startswith("data."):
        raise ConfigurationError(
            f"setting {key} of a variant", "the same data for all", "change it with -s"
        )
    if "." in key:
        return key
    tables: dict[str, type] = {"model.attention": AttentionConfig} if family in ATTEND else {}
    tables |= {"model": ModelConfig, "train": TrainConfig}
    for section, config_class in tables.items():
        if key in fields_of(config_class):
            return f"{section}.{key}"
    known = [name for config_class in tables.values() for name in fields_of(config_class)]
    raise unknown_name("setting", key, known)


def canonical(settings: Iterable[tuple[str, str]]) -> list[str]:
    """Return the canonical names of settings, which do not depend on their order."""
    places = [POOLING, *(f"model.attention.{key}" for key in fields_of(AttentionConfig))]
    order = {place: n for n, place in enumerate(places)}
    last = sorted(dict(settings).items(), key=lambda item: order.get(item[0], len(order)))
    return [_said(place, value) for place, value in last]


def _said(place: str, value: str) -> str:
    key = place.removeprefix("model.attention.")
    return value if key in (*PARTS, POOLING) else f"{key}={value}"
