"""The model zoo: attention models as a pure library.

    from models import load
    load("runs/en-de").translate(["A dog runs."])[0].text
    load("runs/intents").classify(["play some jazz"])[0].label
    load("runs/captions").caption([open_image("dog.jpg")])[0].text
    load("runs/speech").transcribe(Path("memo.wav")).text

`open_image` is in models.images.opening.

torch is imported by the functions that need it, not by this package.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from models.base.errors import ModelError
from models.base.registry import DEFAULT_SOURCE
from models.catalogue.installed import find_model
from models.config import ModelConfig
from models.sources import find_source

if TYPE_CHECKING:
    from models.base.registry import Description
    from models.families.encoder_decoder import EncoderDecoder
    from models.inference.captioner import Captioner
    from models.inference.classifier import Classifier
    from models.inference.transcriber import Transcriber
    from models.inference.translator import EnsembleTranslator, Translator
    from models.sources import Source

__all__ = [
    "ModelError",
    "build",
    "info",
    "list_models",
    "load",
    "load_captioner",
    "load_classifier",
    "load_ensemble",
    "load_transcriber",
    "load_translator",
]


def list_models() -> list[str]:
    """Return the names of all presets."""
    from models.catalogue.presets import PRESETS

    return list(PRESETS)


def info(name: str) -> tuple[ModelConfig, Description]:
    """Return the configuration of a preset and the description of its family."""
    from models.base.registry import describe
    from models.catalogue.presets import model_config

    config = model_config(name)
    return config, describe("family", config.family)


def build(name: str, *, vocabulary: int = 8000) -> EncoderDecoder:
    """Build an untrained model of a preset, with a joint vocabulary of `vocabulary` tokens."""
    from models.base.types import VocabularySizes
    from models.bundle import build as build_model
    from models.catalogue.presets import model_config

    return build_model(model_config(name), VocabularySizes(vocabulary, vocabulary, True))


def load(
    model: str | Path, *, device: str = "cpu"
) -> Translator | Captioner | Classifier | Transcriber:
    """Open a trained model, given by its folder or name (see models.catalogue.installed).

    Return a Translator, Captioner, Classifier or Transcriber, as its family requires. Raises
    NotFoundError if there is no such model, and DamagedError if it cannot be read.
    """
    path = find_model(model)
    return _source_of(path).open(path, device=device)


def load_ensemble(models: Sequence[str | Path], *, device: str = "cpu") -> EnsembleTranslator:
    """Open several trained translators, given by folder or name, whose probabilities are averaged.

    All read the same kind of input, that of the first. Raises ConfigurationError if another reads
    another kind, or if their target vocabularies differ.
    """
    paths = [find_model(model) for model in models]
    source = _source_of(paths[0])
    return source.open_ensemble(paths, device=device)


def load_translator(model: str | Path, *, device: str = "cpu") -> Translator:
    """Open a trained text model, as `load` does; raise a ModelError if it is a captioner.

    A model of several inputs is one, whose texts are rows of columns separated by tabs.
    """
    from models.inference.translator import Translator

    path = find_model(model)
    source = _source_of(path)
    if source.task != find_source(DEFAULT_SOURCE).task:
        return Translator.read(path, device=device)  # which states what the model is for
    return source.open(path, device=device)


def load_captioner(model: str | Path, *, device: str = "cpu") -> Captioner:
    """Open a trained captioner, as `load` does; raise a ModelError if it is a text model."""
    from models.inference.captioner import Captioner

    return Captioner.read(find_model(model), device=device)


def load_classifier(model: str | Path, *, device: str = "cpu") -> Classifier:
    """Open a trained classifier, as `load` does; raise a ModelError if it is another model."""
    from models.inference.classifier import Classifier

    return Classifier.read(find_model(model), device=device)


def load_transcriber(model: str | Path, *, device: str = "cpu") -> Transcriber:
    """Open a trained model of speech, as `load` does; raise a ModelError if it is another model."""
    from models.inference.transcriber import Transcriber

    return Transcriber.read(find_model(model), device=device)


def _source_of(folder: Path) -> Source:
    """Return the kind of input that the model in a folder reads."""
    from models.sources import source_of
    from models.storage.settings import family_of, read_settings

    return source_of(family_of(read_settings(folder)))
