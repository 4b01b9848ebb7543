"""The model zoo: attention models as a pure library.

    from models import load
    load("runs/en-de").translate(["A dog runs."])[0].text

torch is imported by the functions that need it, not by this package.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from models.config import ModelConfig
from models.errors import ModelError

if TYPE_CHECKING:
    from models.model import EncoderDecoder
    from models.registry import Description
    from models.translator import Translator

__all__ = ["ModelError", "build", "info", "list_models", "load"]


def list_models() -> list[str]:
    """The names of all presets."""
    from models.zoo import PRESETS

    return list(PRESETS)


def info(name: str) -> tuple[ModelConfig, Description]:
    """A preset's configuration, and what its family says of itself."""
    from models.registry import describe
    from models.zoo import model_config

    config = model_config(name)
    return config, describe("family", config.family)


def build(name: str, *, vocabulary: int = 8000) -> EncoderDecoder:
    """A fresh, untrained model of a preset, with a joint vocabulary."""
    from models.bundle import build as build_model
    from models.families.base import VocabularySizes
    from models.zoo import model_config

    return build_model(model_config(name), VocabularySizes(vocabulary, vocabulary, True))


def load(path: str | Path, *, device: str = "cpu") -> Translator:
    """A trained model from its folder, ready to translate."""
    from models.translator import Translator

    return Translator.read(path, device=device)
