"""The model zoo: attention models as a pure library.

    from models import load
    load("runs/en-de").translate(["A dog runs."])[0].text
    load("runs/intents").classify(["play some jazz"])[0].label
    load("runs/captions").caption([open_image("dog.jpg")])[0].text
    load("runs/speech").transcribe(Path("memo.wav")).text

`open_image` is in models.signals.images.

torch is imported by the functions that need it, not by this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Literal, overload

from models.core.config import ModelConfig
from models.core.errors import ConfigurationError, ModelError, unknown_name
from models.core.registry import describe, names
from models.core.sources import find_source, source_of
from models.core.types import VocabularySizes
from models.storage.installed import find_model
from models.storage.presets import PRESETS, model_config
from models.storage.settings import family_of, read_settings

if TYPE_CHECKING:
    from models.core.registry import Description
    from models.core.sources import Source
    from models.engines.captioner import Captioner
    from models.engines.classifier import Classifier
    from models.engines.translator import EnsembleTranslator, Translator
    from models.networks.encoder_decoder import EncoderDecoder

__all__ = [
    "ModelError",
    "build",
    "info",
    "list_models",
    "load",
    "load_ensemble",
]


def list_models() -> list[str]:
    """Return the names of all presets."""
    return list(PRESETS)


def info(name: str) -> tuple[ModelConfig, Description]:
    """Return the configuration of a preset and the description of its family."""
    config = model_config(name)
    return config, describe("family", config.family)


def build(name: str, *, vocabulary: int = 8000) -> EncoderDecoder:
    """Build an untrained model of a preset, with a joint vocabulary of `vocabulary` tokens."""
    from models.networks.bundle import build as build_model

    return build_model(model_config(name), VocabularySizes(vocabulary, vocabulary, True))


@overload
def load(model: str | Path, task: Literal["translate"], *, device: str = "cpu") -> Translator: ...
@overload
def load(model: str | Path, task: Literal["caption"], *, device: str = "cpu") -> Captioner: ...
@overload
def load(model: str | Path, task: Literal["classify"], *, device: str = "cpu") -> Classifier: ...
@overload
def load(model: str | Path, task: str = "", *, device: str = "cpu", **options: Any) -> Any: ...


def load(model: str | Path, task: str = "", *, device: str = "cpu", **options: Any) -> Any:
    """Open a trained model, given by its folder or name (see models.storage.installed).

    task: the one that the model must have, such as translate; "": any. Return a Translator,
    Captioner, Classifier or SpeechModel, as its family requires. options: threads and precision of
    a SpeechModel. Raises NotFoundError if there is no such model, DamagedError if it cannot be
    read, and ConfigurationError if it has another task.
    """
    path = find_model(model)
    source = _source_of(path)
    if task not in ("", source.task):  # the runner of the task states what the model is for
        tasks = {one.task: one for one in map(find_source, names("source")[::-1])}
        if task not in tasks:
            raise unknown_name("task", task, tasks)
        source = tasks[task]
    return resolve_name(source.runner).read(path, device=device, **options)


def load_ensemble(models: Sequence[str | Path], *, device: str = "cpu") -> EnsembleTranslator:
    """Open several trained translators, given by folder or name, whose probabilities are averaged.

    All read the same kind of input, that of the first. Raises ConfigurationError if another reads
    another kind, or if their target vocabularies differ.
    """
    paths = [find_model(model) for model in models]
    source = _source_of(paths[0])
    if not source.ensemble:
        raise ConfigurationError(
            f"{len(paths)} models, each of which {source.ability}",
            "one model: there are no ensembles of this kind",
        )
    members = [resolve_name(source.runner).read(path, device=device) for path in paths]
    found: EnsembleTranslator = resolve_name(source.ensemble)(members, [*map(str, paths)])
    return found


def _source_of(folder: Path) -> Source:
    """Return the kind of input that the model in a folder reads."""
    return source_of(family_of(read_settings(folder)))
