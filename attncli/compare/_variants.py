"""Variants of a model: the settings of a run for each name.

A variant is one or several of these, joined by `+`: dot, score=dot+window=local_p, none+lr=0.001

NAME        a part (score, window, normaliser, read, pooling, image network, ...); alone or first
            also a preset, with its own recipe under the same budget, and `none`: no attention
KEY=VALUE   a setting. Without a section it belongs to model if the family states it, else to
            model.attention, else to model, else to train
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

from attncli.train.command_line import absolute
from attncli.training.config import RunConfig, TrainConfig
from attncli.training.sources import Comparison, source_of_run, training_source
from models.core import registry
from models.core.config import ModelConfig, every_setting, family_config
from models.core.errors import ConfigurationError, naming, unknown_name
from models.core.registry import SETTINGS
from models.core.settings import check_limits, fields_of, merged, overridden
from models.core.sources import source_of
from models.storage import presets as zoo

NONE = "none"
ATTENTION = "model.attention"
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
    found: list[Variant] = []
    for name in names:
        variant = find(name, base, assignments)
        # two variants in one folder would overwrite each other's run
        same = [one for one in found if one.folder == variant.folder]
        if same and same[0].config != variant.config:
            raise ConfigurationError(
                f"variants {same[0].name} and {name}", "names that differ in letters"
            )
        if variant.config not in [one.config for one in found]:
            found.append(variant)
    return found


def find(name: str, base: RunConfig, assignments: Sequence[str] = ()) -> Variant:
    """Return the variant of one name."""
    first, *parts = words = [part.strip() for part in name.split("+")]
    if first in zoo.PRESETS:
        start = of_preset(first, base, assignments)
    elif first == NONE and (family := comparison_of(base.model.family).without_attention):
        start = overridden(base, [f"model.family={family}"])
    else:
        start, parts = base, words
    settings = dict(part.removeprefix("model.").partition("=")[::2] for part in parts)
    family = settings.get("family", start.model.family)
    assignments = [setting(one, family) for one in parts]
    with naming(f"variant {name}"):
        chosen = absolute(overridden(start, assignments))
    variant = Variant("+".join(words), chosen)
    wanted = comparison_of(base.model.family)
    if comparison_of(variant.config.model.family) is not wanted:
        ability = source_of(variant.config.model.family).ability
        found = f"variant {name}, which {ability}, in a comparison of {wanted.outputs}"
        raise ConfigurationError(found, f"presets for {wanted.outputs}")
    check_limits(variant.config)
    source_of_run(variant.config).check()
    return variant


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
    combinations = ["+".join(chosen) for chosen in itertools.product(*axes)]
    if not names or not grid:
        return list(names) or combinations
    return [f"{name}+{combination}" for name in names for combination in combinations]


def of_preset(name: str, base: RunConfig, assignments: Sequence[str]) -> RunConfig:
    """Return a preset's model and training settings with the data and budget of the base."""
    chosen = zoo.preset(name)
    bare = replace(base, preset=name, model=ModelConfig(), train=TrainConfig())
    own = merged(bare, {"model": chosen.model, "train": chosen.train})
    config = absolute(overridden(own, assignments, stored=True))
    budget = {key: getattr(base.train, key) for key in BUDGET}
    return replace(config, train=replace(config.train, **budget))


def setting(part: str, family: str) -> str:
    """Return the assignment, KEY=VALUE, of a name or of a setting without its section."""
    key, equals, value = (word.strip() for word in part.partition("="))
    if equals:
        return f"{_place(key, family)}={value}"
    read = fields_of(family_config(family))
    places = [SETTINGS[kind] for kind in SETTINGS if key in names_of(kind)]
    for place in places:
        if place.split(".")[1] in read:
            return f"{place}={key}"
    if places:
        raise ConfigurationError(
            f"variant {key} ({places[0]}) for family {family}",
            "a family that has this setting",
            "name the data with --labels or --images, or a preset with -p",
        )
    none = [NONE] if comparison_of(family).without_attention else []
    kinds = [kind for kind, place in SETTINGS.items() if place.split(".")[1] in read]
    own = [one for kind in kinds for one in names_of(kind)]
    hint = "parts are joined by +: dot+local_p" if "," in key else ""
    raise unknown_name("variant", key, [*none, *own, *zoo.PRESETS], hint=hint)


def names_of(kind: str) -> list[str]:
    """Return the names of a kind that are variants by themselves."""
    return [name for name in registry.names(kind) if name != "torchvision"]  # a group of networks


def _place(key: str, family: str) -> str:
    """Return the whole name of a setting."""
    if key.startswith("data."):
        raise ConfigurationError(
            f"setting {key} of a variant", "the same data for all", "change it with -s"
        )
    read = fields_of(family_config(family))
    if "." in key:
        return key
    if key in read and key != "attention":  # heads of a Transformer are not of model.attention
        return f"model.{key}"
    every = every_setting()
    tables = {ATTENTION: every.attention} if "attention" in read else {}
    tables |= {"model": every, "train": TrainConfig()}
    for table, settings in tables.items():
        if key in fields_of(type(settings)):
            return f"{table}.{key}"
    known = [name for settings in tables.values() for name in fields_of(type(settings))]
    raise unknown_name("setting", key, known)


def comparison_of(family: str) -> Comparison:
    """Return the comparison of a family; raise a ModelError if its models are not compared."""
    found = training_source(family).comparison
    if found is None:
        raise ConfigurationError(f"a comparison of models of family {family}", "another family")
    return found


class TestFiles(NamedTuple):
    """Files to measure the models of a comparison on."""

    test: Sequence[Path] = ()
    gold: Path | None = None  # links of the test set, or of the dev set if there is none
    gold_index: Literal["0", "1"] | None = None

    @property
    def paths(self) -> list[Path]:
        """Return the files."""
        return [*self.test, *filter(None, [self.gold])]
