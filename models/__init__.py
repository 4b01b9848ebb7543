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
from typing import TYPE_CHECKING, Any

from models.core.annexes import need_part
from models.core.config import ModelConfig
from models.core.errors import ModelError
from models.core.registry import DEFAULT_SOURCE
from models.core.sources import find_source
from models.storage.installed import find_model

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
    "load_captioner",
    "load_classifier",
    "load_ensemble",
    "load_transcriber",
    "load_translator",
]


def list_models() -> list[str]:
    """Return the names of all presets."""
    from models.storage.presets import PRESETS

    return list(PRESETS)


def info(name: str) -> tuple[ModelConfig, Description]:
    """Return the configuration of a preset and the description of its family."""
    from models.core.registry import describe
    from models.storage.presets import model_config

    config = model_config(name)
    return config, describe("family", config.family)


def build(name: str, *, vocabulary: int = 8000) -> EncoderDecoder:
    """Build an untrained model of a preset, with a joint vocabulary of `vocabulary` tokens."""
    from models.core.types import VocabularySizes
    from models.networks.bundle import build as build_model
    from models.storage.presets import model_config

    return build_model(model_config(name), VocabularySizes(vocabulary, vocabulary, True))


def load(model: str | Path, *, device: str = "cpu") -> Translator | Captioner | Classifier | Any:
    """Open a trained model, given by its folder or name (see models.storage.installed).

    Return a Translator, Captioner, Classifier or SpeechModel, as its family requires. Raises
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
    from models.engines.translator import Translator

    path = find_model(model)
    source = _source_of(path)
    if source.task != find_source(DEFAULT_SOURCE).task:
        return Translator.read(path, device=device)  # which states what the model is for
    return source.open(path, device=device)


def load_captioner(model: str | Path, *, device: str = "cpu") -> Captioner:
    """Open a trained captioner, as `load` does; raise a ModelError if it is a text model."""
    from models.engines.captioner import Captioner

    return Captioner.read(find_model(model), device=device)


def load_classifier(model: str | Path, *, device: str = "cpu") -> Classifier:
    """Open a trained classifier, as `load` does; raise a ModelError if it is another model."""
    from models.engines.classifier import Classifier

    return Classifier.read(find_model(model), device=device)


def load_transcriber(
    model: str | Path, *, device: str = "cpu", threads: int = 0, precision: str = "auto"
) -> Any:
    """Open a trained model of speech, as `load` does; raise a ModelError if it is another model.

    Return a SpeechModel. threads: of the processor, 0: all. precision: of Whisper, auto, fp32 or
    int8.
    """
    kind = need_part("model", "transcriber", f"the model of speech {model}")
    path = find_model(model)
    return kind.read(path, device=device, threads=threads, precision=precision)


def _source_of(folder: Path) -> Source:
    """Return the kind of input that the model in a folder reads."""
    from models.core.sources import source_of
    from models.storage.settings import family_of, read_settings

    return source_of(family_of(read_settings(folder)))
