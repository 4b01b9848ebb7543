"""A run that begins with a trained model: its weights and its pieces, on other data or settings.

Sentence pairs of one's own domain, hard attention after soft, an image network that learns after
it was frozen, reward after likelihood: each goes on from what is learned already.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from attncli.training.config import RunConfig
from models.bundle import build, fill_from, read_settings
from models.config import ModelConfig, TokenizerConfig
from models.encoders.pretrained import PretrainedEncoder, pretrained_encoder
from models.errors import ModelError
from models.model import EncoderDecoder
from models.settings import from_dict
from models.tokenizer import Tokenizer
from models.types import VocabularySizes


def pieces(config: RunConfig, learn: Callable[[], Tokenizer]) -> Tokenizer:
    """The pieces of the model that the run begins with, or those it learns."""
    return Tokenizer.read(Path(config.start_from)) if config.start_from else learn()


def check_start(config: RunConfig) -> None:
    """Refuse what does not fit the model to begin with, before any data is read."""
    folder = Path(config.start_from)
    settings = read_settings(folder)
    stored = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
    if config.tokenizer != stored:
        raise ModelError(
            f"settings of the tokenizer beside the model in {folder} to begin with",
            "none: the pieces are that model's",
        )
    weights = from_dict(ModelConfig, settings["model"], where="model").image.weights
    if config.model.image.weights != weights:
        raise ModelError(
            f"model.image.weights={config.model.image.weights} beside the model in {folder} "
            "to begin with",
            "none: the image network is that model's",
            "let it learn with -s train.encoder_from=1",
        )
    with torch.device("meta"):  # nothing is copied, but names and shapes are compared
        model = build(config.model, VocabularySizes(**settings["vocabulary"]))
        fill_from(model, folder)


def weights_hash(folder: Path) -> str:
    """A hash of the weights in a model's folder."""
    try:
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    except OSError as error:
        raise ModelError(
            f"cannot read the model in {folder} to begin with ({error.strerror})",
            "a folder made by `attn train`",
        ) from None


def first_weights(model: EncoderDecoder, config: RunConfig) -> None:
    """Give a fresh model the weights that are there before training."""
    if config.start_from:
        fill_from(model, Path(config.start_from))
    elif encoder := pretrained_encoder(model):
        encoder.load_pretrained()


def first_encoder_weights(encoder: PretrainedEncoder, config: RunConfig) -> None:
    """The same for an image encoder alone; nothing of its own may be left as it was drawn."""
    if config.start_from:
        whole = nn.Module()
        whole.encoder = encoder
        fill_from(whole, Path(config.start_from), others=True)
    else:
        encoder.load_pretrained()
