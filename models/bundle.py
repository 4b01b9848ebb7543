"""A bundle: a directory with all that is needed to use a model. Nothing in it is unpickled.

config.json          format number, model, tokenizer and search settings, vocabulary sizes, and
                     how its attention is read as an alignment, once that is tuned
model.safetensors    weights, each shared matrix once
tokenizer.model      SentencePiece; source.model and target.model if separate
card.md              what it is, in words
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from models.config import (
    AlignConfig,
    ModelConfig,
    SearchConfig,
    TokenizerConfig,
    from_dict,
    to_dict,
)
from models.errors import ModelError
from models.families.base import VocabularySizes
from models.files import write_bytes, write_text
from models.model import EncoderDecoder
from models.registry import IMAGE_FAMILIES, find
from models.tokenizer import Tokenizer

FORMAT = 1


class Bundle(NamedTuple):
    """A model in memory with what belongs to it."""

    model: EncoderDecoder
    tokenizer: Tokenizer
    tokenizer_config: TokenizerConfig
    search: SearchConfig
    alignment: AlignConfig = AlignConfig()


def build(config: ModelConfig, sizes: VocabularySizes) -> EncoderDecoder:
    """A fresh model of the configured family."""
    model: EncoderDecoder = find("family", config.family)(config, sizes)
    return model


def sizes_of(tokenizer: Tokenizer, family: str = "") -> VocabularySizes:
    """The vocabulary sizes that a tokenizer asks for; a captioner has no source vocabulary."""
    if family in IMAGE_FAMILIES:
        return VocabularySizes(0, len(tokenizer.target), False)
    return VocabularySizes(len(tokenizer.source), len(tokenizer.target), tokenizer.joint)


def save(bundle: Bundle, folder: Path, *, card: str = "") -> None:
    """Write a bundle's files into an existing folder, each whole or not at all."""
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
    write_text(folder / "config.json", json.dumps(settings, indent=2) + "\n")
    if card:
        write_text(folder / "card.md", card)
    write_bytes(folder / "model.safetensors", to_bytes(weights_of(bundle.model)))


def write_alignment(folder: Path, config: AlignConfig) -> None:
    """Let a bundle say how its attention is read as an alignment; the rest stays as it is."""
    settings = {**read_settings(folder), "alignment": to_dict(config)}
    write_text(folder / "config.json", json.dumps(settings, indent=2) + "\n")


def read(folder: Path) -> Bundle:
    """The bundle in a folder; a ModelError that says what is missing or damaged."""
    settings = read_settings(folder)
    tokenizer = Tokenizer.read(folder)
    sizes = sizes_of(tokenizer, str(settings["model"].get("family")))
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
        from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer"),
        from_dict(SearchConfig, settings["search"], where="search"),
        from_dict(AlignConfig, settings.get("alignment", {}), where="alignment"),
    )


def read_settings(folder: Path) -> dict[str, Any]:
    """The checked content of a bundle's config.json."""
    made_by = "a folder made by `attn train`"
    if not folder.exists():
        raise ModelError(f"no model at {folder}", made_by, "train one first, or check the path")
    try:
        settings: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        if settings["format"] != FORMAT:
            raise ModelError(
                f"{folder} has bundle format {settings['format']}",
                f"format {FORMAT}",
                "use the version of attn that wrote it",
            )
        for section in ("model", "tokenizer", "search", "vocabulary", "alignment"):
            if not isinstance(settings.get(section, {} if section == "alignment" else None), dict):
                raise ValueError(f"no settings of the {section}")
    except FileNotFoundError:
        raise ModelError(f"{folder} has no config.json", made_by) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"{folder}/config.json is damaged ({error})", made_by) from None
    return settings


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """The weights by name, each shared matrix once, and the kept statistics of image networks."""
    return {name: tensor.detach().contiguous() for name, tensor in stored_tensors(model).items()}


def stored_tensors(model: nn.Module) -> dict[str, Tensor]:
    """What a bundle holds of a model: its parameters, and the buffers that are part of it."""
    kept = model.state_dict().keys()
    buffers = {name: tensor for name, tensor in model.named_buffers() if name in kept}
    return {**dict(model.named_parameters()), **buffers}


class Unfilled(TorchFunctionMode):
    """Draws no initial weights: for a model whose weights are read right after it is built."""

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Room in place of random numbers; anything else as it is."""
        if function is torch.randn:
            return torch.empty(*args)
        if function in (Tensor.uniform_, Tensor.normal_):
            return args[0]
        return function(*args, **(kwargs or {}))


def load_weights(model: nn.Module, path: Path) -> None:
    """Fill a model's weights from a safetensors file; a ModelError if they do not fit."""
    stored, wanted = stored_weights(path), stored_tensors(model)
    if odd := misfits(stored, wanted):
        raise ModelError(
            f"{path} does not fit its config.json (first at {odd[0]})",
            "the weights and the configuration of one model",
        )
    fill(wanted, stored)


def fill_from(model: nn.Module, folder: Path, *, others: bool = False) -> None:
    """Fill a model of other settings, but with weights of the same shapes, from a bundle.

    others: whether the bundle may hold weights that the model, then a part of one, does not have.
    """
    stored, wanted = stored_weights(folder / "model.safetensors"), stored_tensors(model)
    if others:
        stored = {name: tensor for name, tensor in stored.items() if name in wanted}
    if odd := misfits(stored, wanted):
        raise ModelError(
            f"{len(odd)} weights of the model in {folder} do not fit these settings "
            f"(first {odd[0]})",
            "settings that leave every weight its shape",
            "leave out what changes sizes or parts of the model",
        )
    fill(wanted, stored)


def stored_weights(path: Path) -> dict[str, Tensor]:
    """What a safetensors file holds; a ModelError if it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise ModelError(
            f"{path} is missing or damaged ({error})", "weights written by `attn train`"
        ) from None


def misfits(stored: dict[str, Tensor], wanted: dict[str, Tensor]) -> list[str]:
    """Names that only one of them has; if there are none, those of another shape."""
    return sorted(stored.keys() ^ wanted.keys()) or sorted(
        name for name, tensor in stored.items() if tensor.shape != wanted[name].shape
    )


def fill(wanted: dict[str, Tensor], stored: dict[str, Tensor]) -> None:
    """Copy the stored weights."""
    with torch.no_grad():
        for name, tensor in wanted.items():
            tensor.copy_(stored[name])
