"""The models for Python programs and notebooks; `attncli.load` opens one.

What stands here is the public interface: `load`, `Translator`, `Captioner`, `Classifier`
and their results. docs/python.md lists it. An annex has the class of its task: `SpeechModel`.
"""

from __future__ import annotations

from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import models
from attncli.task.table import TASKS
from models.core.errors import InputError
from models.core.sources import find_source, source_of
from models.storage.installed import find_model
from models.storage.settings import family_of, read_settings

if TYPE_CHECKING:
    from attncli.interface.captioner import Captioner
    from attncli.interface.classifier import Classifier
    from attncli.interface.translator import Translator


def load(model: str | Path, *, device: str = "cpu") -> Translator | Captioner | Classifier | Any:
    """Open a trained model, given by its folder or its name (`attn models` lists the names).

    Return a Translator, Captioner, Classifier or SpeechModel, as the model requires; for rows of
    several inputs, and for a task whose row in attncli.task.table names no class, the model that
    `models.load` returns. device: cpu, cuda, mps or auto. Raises NotFoundError if there is no such
    model, and DamagedError if it cannot be read.
    """
    if not isinstance(model, (str, Path)):
        raise InputError(f"a model of type {type(model).__name__}", "its name or its folder")
    path = find_model(model)
    source = source_of(family_of(read_settings(path)))
    task = TASKS.get(source.task)
    shown = resolve_name(task.loaded) if task and task.loaded else None
    read = shown.read if shown and find_source(shown.source) is source else models.load
    return read(path, device=device)
