"""Names of mechanisms, and the settings of a run for each name.

dot                      a part by its name: score, window, normalise or read
dot,local_p              parts joined by commas
score=cosine,heads=4     settings of model.attention
train.attention.coverage=see,coverage=true    a name with dots is any setting
none                     the same sizes without attention
transformer-tiny         a preset, with its own recipe under the same budget
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from attncli.training.config import RunConfig, TrainConfig, check
from models import registry, zoo
from models.config import AttentionConfig
from models.errors import ConfigurationError, unknown_name
from models.settings import fields_of, merged, overridden
from models.sources import source_of

NONE = "none"
PARTS = ("score", "window", "normalise", "read")
ATTEND = ("rnnsearch", "luong")  # families whose attention can be chosen
BUDGET = ("steps", "epochs", "batch_tokens", "accumulate", "evaluate_every", "patience")
LITERATURE = (  # Luong et al. 2015, table 4, and what came before and after
    *(NONE, "location", "dot", "general", "concat", "additive", "cosine", "scaled_dot"),
    *("location_aware", "dot,local_m", "general,local_m", "dot,local_p", "general,local_p"),
    *("hard", "sparsemax", "entmax15", "heads=4"),
)


class Mechanism(NamedTuple):
    """A name and the settings of its run."""

    name: str
    config: RunConfig

    @property
    def folder(self) -> str:
        """The name, with characters that folder names cannot have replaced."""
        return re.sub(r"[^\w.=+-]", "-", self.name)


def mechanisms(
    names: Iterable[str], base: RunConfig, assignments: Sequence[str]
) -> list[Mechanism]:
    """Return the named mechanisms, each once; raise a ModelError for an impossible one.

    base: the run that a name changes. assignments: settings that override those of a preset.
    """
    found: dict[str, Mechanism] = {}
    for name in names:
        mechanism = find(name, base, assignments)
        other = found.setdefault(mechanism.folder, mechanism)
        if other.name != mechanism.name:
            raise ConfigurationError(
                f"mechanisms {other.name} and {name}", "names that differ in letters"
            )
    return list(found.values())


def find(name: str, base: RunConfig, assignments: Sequence[str] = ()) -> Mechanism:
    """Return the mechanism of one name."""
    if name in zoo.PRESETS:
        mechanism = Mechanism(name, of_preset(name, base, assignments))
    elif name == NONE:
        model = replace(base.model, family="seq2seq", attention=AttentionConfig())
        mechanism = Mechanism(name, replace(base, model=model))
    elif base.model.family not in ATTEND:
        raise ConfigurationError(
            f"mechanism '{name}' in preset {base.preset} of family {base.model.family}",
            f"a family whose attention can be chosen, {' or '.join(ATTEND)}",
            "choose another --preset",
        )
    else:
        settings = [setting(part.strip()) for part in name.split(",")]
        assigned = [f"{place}={value}" for place, value in settings]
        mechanism = Mechanism(canonical(settings), overridden(base, assigned))
    for preset, config in ((base.preset, base), (name, mechanism.config)):
        source = source_of(config.model.family)
        if source.task != "translate":
            raise ConfigurationError(
                f"preset {preset}, which {source.ability}, in a comparison of translations",
                "presets for texts",
            )
    check(mechanism.config)
    return mechanism


def of_preset(name: str, base: RunConfig, assignments: Sequence[str]) -> RunConfig:
    """Return a preset's model and training settings with the data and budget of the base."""
    chosen = zoo.preset(name)
    bare = replace(base, preset=name, model=type(base.model)(), train=TrainConfig())
    own = merged(bare, {"model": chosen.model, "train": chosen.train})
    config = overridden(own, assignments)
    budget = {key: getattr(base.train, key) for key in BUDGET}
    return replace(config, train=replace(config.train, **budget))


def setting(part: str) -> tuple[str, str]:
    """Return the setting and the value for one part of a mechanism's name."""
    key, equals, value = part.partition("=")
    if equals:
        return (key if "." in key else f"model.attention.{key}"), value
    for kind in PARTS:
        if part in registry.names(kind):
            return f"model.attention.{kind}", part
    known = [name for kind in PARTS for name in registry.names(kind)]
    raise unknown_name("mechanism", part, [NONE, *known, *zoo.PRESETS])


def canonical(settings: Iterable[tuple[str, str]]) -> str:
    """Return the canonical name of a mechanism, which does not depend on the order of parts."""
    order = {f"model.attention.{key}": n for n, key in enumerate(fields_of(AttentionConfig))}
    last = sorted(dict(settings).items(), key=lambda item: order.get(item[0], len(order)))
    return ",".join(_said(place, value) for place, value in last)


def _said(place: str, value: str) -> str:
    key = place.removeprefix("model.attention.")
    return value if key in PARTS else f"{key}={value}"
