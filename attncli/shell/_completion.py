"""Completion of values in the shell: presets, settings with their values, models.

Each function receives the part of a word that was typed, and returns pairs of a word that begins
with it and its help. Nothing here imports torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from operator import attrgetter
from pathlib import Path
from typing import Any

from typer.models import ParameterInfo

from attncli.options.settings import SetOption, names_of
from attncli.training.config import RunConfig
from models.core import registry
from models.core.settings import fields_of, limits_of
from models.storage import presets as zoo
from models.storage.installed import installed

Completions = list[tuple[str, str]]
# listed here, because a word is completed without importing torch
TORCHVISION = ("resnet50", "vgg19", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny")


def add_completion(parameters: Iterable[inspect.Parameter]) -> None:
    """Let the parameters of a command complete their values, as BY_PARAMETER says."""
    for parameter in parameters:
        for information in getattr(parameter.annotation, "__metadata__", ()):
            if parameter.name in BY_PARAMETER and isinstance(information, ParameterInfo):
                information.autocompletion = BY_PARAMETER[parameter.name]
            if isinstance(information, SetOption):
                information.autocompletion = _completer(information.tables)


def models(incomplete: str) -> Completions:
    """Return names of models, and folders if a path was begun."""
    named = {model.name: f"in {model.place.name}" for model in installed()}
    return _matching([*named.items(), *_folders(incomplete)], incomplete)


def presets(incomplete: str) -> Completions:
    """Return names of presets."""
    return _matching(((name, zoo.preset(name).doc) for name in zoo.PRESETS), incomplete)


def settings(incomplete: str) -> Completions:
    """Return names of settings of a run; see `settings_of`."""
    return settings_of(RunConfig, incomplete)


def _completer(tables: type) -> Callable[[str], Completions]:
    def complete(incomplete: str) -> Completions:  # Typer reads its annotations
        return settings_of(tables, incomplete)

    return complete


def settings_of(tables: type, incomplete: str) -> Completions:
    """Return names of settings, with `=`; the values if only one name is left."""
    names = [name for name in names_of(tables) if "." in name]
    left = [n for n in names if f"{n}=".startswith(incomplete) or incomplete.startswith(f"{n}=")]
    settings = tables()
    found = []
    for name in left:
        field = fields_of(type(_owner(settings, name)))[name.rpartition(".")[2]]
        found.append((f"{name}=", field.metadata["doc"]))
    if len(left) == 1:
        [(place, doc)] = found
        values = [(f"{place}{value}", doc) for value in _values(settings, left[0])]
        return _matching(values, incomplete) or found
    return found


def _owner(settings: object, name: str) -> Any:
    """Return the table that has a setting."""
    table, _, key = name.rpartition(".")
    for kind in getattr(settings, "kinds", list)() or [settings]:  # each has a table [data]
        with suppress(AttributeError):  # of another kind
            owner = attrgetter(table)(kind)
            getattr(owner, key)
            return owner
    raise AssertionError(name)


def _values(settings: object, name: str) -> tuple[str, ...]:
    """Return the values to propose for a setting."""
    if name == "model.image.encoder":
        own = [network for network in registry.names("image_encoder") if network != "torchvision"]
        return (*own, *TORCHVISION)
    owner, key = _owner(settings, name), name.rpartition(".")[2]
    default = getattr(owner, key)
    if isinstance(default, bool):
        return ("true", "false")
    allowed = limits_of(type(owner), key).allowed
    return allowed or ((str(default),) if isinstance(default, (int, float)) else ())


def names(incomplete: str) -> Completions:
    """Return all names that `attn models show` describes."""
    parts = [(name, kind) for kind in registry.TABLES for name in registry.names(kind)]
    return models(incomplete) + presets(incomplete) + _matching(parts, incomplete)


def variants(incomplete: str) -> Completions:
    """Return names that `attn models compare` compares."""
    named = ((name, kind) for kind in registry.SETTINGS for name in registry.names(kind))
    parts = [(name, kind.replace("_", " ")) for name, kind in named if name != "torchvision"]
    found = _matching([("none", "the same sizes without attention"), *parts], incomplete)
    return found + presets(incomplete) + (settings(incomplete) if "." in incomplete else [])


def _folders(incomplete: str) -> Iterator[tuple[str, str]]:
    """Yield the folders that a path leads to."""
    if "/" in incomplete or incomplete in (".", "~"):
        start = Path(incomplete if incomplete.endswith("/") else Path(incomplete).parent)
        if start.is_dir():
            yield from ((str(path), "folder") for path in sorted(start.iterdir()) if path.is_dir())


def _matching(found: Iterable[tuple[str, str]], incomplete: str) -> Completions:
    return [(name, doc) for name, doc in found if name.startswith(incomplete)]


BY_PARAMETER: dict[str, Callable[[str], Completions]] = {  # name of a command's parameter
    "model": models,
    "models": models,
    "reverse_model": models,
    "start_from": models,
    "runs": models,
    "preset": presets,
    "grid": settings,
    "name": names,  # attn models show
    "names": variants,  # attn models compare
}
