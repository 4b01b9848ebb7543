"""Models in memory, and bundles from and to folders."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from models.bundle.settings import FORMAT, family_of, read_settings, write_settings
from models.bundle.weights import Unfilled, load_weights, weights_of
from models.config import AlignConfig, ModelConfig, SearchConfig, TokenizerConfig
from models.errors import ModelError
from models.files import write_bytes, write_text
from models.model import EncoderDecoder
from models.registry import find, source_name
from models.settings import from_dict, to_dict
from models.sources import vocabulary_sizes
from models.tokenizer import Tokenizer
from models.types import VocabularySizes


class Bundle(NamedTuple):
    """A model in memory with its tokenizer and settings."""

    model: EncoderDecoder
    tokenizer: Tokenizer
    tokenizer_config: TokenizerConfig
    search: SearchConfig
    alignment: AlignConfig = AlignConfig()


def build(config: ModelConfig, sizes: VocabularySizes) -> EncoderDecoder:
    """Return a new model of the configured family."""
    family = find("family", config.family)
    if family.source != source_name(config.family):  # it was inherited
        raise TypeError(f"{family.__name__} must name its source, as in source = {family.source!r}")
    model: EncoderDecoder = family(config, sizes)
    return model


def sizes_of(tokenizer: Tokenizer, family: str) -> VocabularySizes:
    """Return the vocabulary sizes of a family's model with a tokenizer."""
    joint = tokenizer.joint
    return vocabulary_sizes(family, len(tokenizer.source), len(tokenizer.target), joint)


def save(bundle: Bundle, folder: Path, *, card: str = "") -> None:
    """Write a bundle into an existing folder; each file is written completely or not at all."""
    from safetensors.torch import save as to_bytes

    for name, content in bundle.tokenizer.files().items():
        write_bytes(folder / name, content)
    settings = {
        "format": FORMAT,
        "model": to_dict(bundle.model.config),
        "tokenizer": to_dict(bundle.tokenizer_config),
        "search": to_dict(bundle.search),
        "vocabulary": sizes_of(bundle.tokenizer, bundle.model.config.family)._asdict(),
    }
    if bundle.alignment != AlignConfig():
        settings["alignment"] = to_dict(bundle.alignment)
    write_settings(folder, settings)
    if card:
        write_text(folder / "card.md", card)
    write_bytes(folder / "model.safetensors", to_bytes(weights_of(bundle.model)))


def read(folder: Path) -> Bundle:
    """Return the bundle in a folder; raise a ModelError that names what is missing or damaged."""
    settings = read_settings(folder)
    tokenizer = Tokenizer.read(folder)
    tokenizer_config = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
    for language in tokenizer_config.languages:
        tokenizer.language_id(language)  # raises if the token is missing
    sizes = sizes_of(tokenizer, family_of(settings))
    if settings["vocabulary"] != sizes._asdict():
        raise ModelError(
            f"the tokenizer in {folder} does not fit its config.json", "those of one model"
        )
    with Unfilled():
        model = build(from_dict(ModelConfig, settings["model"], where="model"), sizes)
    load_weights(model, folder / "model.safetensors")
    return Bundle(
        model.eval(),
        tokenizer,
        tokenizer_config,
        from_dict(SearchConfig, settings["search"], where="search"),
        from_dict(AlignConfig, settings.get("alignment", {}), where="alignment"),
    )
