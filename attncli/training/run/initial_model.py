"""The initial model of a run: new weights, or those of a trained model (`--start-from MODEL`).

Uses of a trained model: fine-tuning on another domain, hard attention after soft, unfreezing an
image network, rewards after likelihood.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from torch import nn

from attncli.terminal import console
from attncli.training.loggers import check_loggers
from attncli.training.settings.config import RunConfig
from models.base.errors import ConfigurationError, ModelError
from models.base.settings import from_dict
from models.base.types import VocabularySizes
from models.bundle import build
from models.config import ModelConfig, TokenizerConfig
from models.encoders.image import ImageEncoder, pretrained_encoder
from models.families.encoder_decoder import EncoderDecoder
from models.layers import Embedding
from models.losses.losses import AttentionLoss
from models.storage.settings import read_settings
from models.storage.weights import fill_from
from models.text.tokenizer import SPACE, Tokenizer
from models.text.vectors import read_vectors

TOKENS = 1000  # any vocabulary size: the checks do not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model and loss would raise; allocate no weights."""
    train = config.train
    if train.schedule == "linear" and not (train.minutes or train.steps or train.epochs):
        raise ConfigurationError(
            "train.schedule=linear", "train.minutes, train.steps or train.epochs with it"
        )
    check_loggers(train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(train.attention, model)
    if config.start_from and config.model.vectors:
        found = f"model.vectors with the initial model {config.start_from}"
        raise ConfigurationError(found, "one of them")
    if config.start_from:
        check_initial_model(config.start_from, config.model, config.tokenizer)


def check_initial_model(start_from: str, config: ModelConfig, tokenizer: TokenizerConfig) -> None:
    """Raise ModelError for settings that do not fit the initial model, before data are read."""
    folder = Path(start_from)
    settings = read_settings(folder)
    stored = from_dict(TokenizerConfig, settings["tokenizer"], where="tokenizer")
    if replace(tokenizer, directions=stored.directions) != stored:
        raise ModelError(
            f"[tokenizer] settings that differ from those of the initial model {folder}",
            "no such settings: the vocabulary comes from that model",
        )
    weights = from_dict(ModelConfig, settings["model"], where="model").image.weights
    if config.image.weights != weights:
        raise ModelError(
            f"model.image.weights={config.image.weights} with the initial model {folder}",
            "no such setting: the image network comes from that model",
            "unfreeze it with -s train.encoder_from=1",
        )
    with torch.device("meta"):  # compares names and shapes; allocates nothing
        model = build(config, VocabularySizes(**settings["vocabulary"]))
        fill_from(model, folder)


def weights_hash(folder: Path) -> str:
    """Return a hash of the weights in a model's folder."""
    try:
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    except OSError as error:
        raise ModelError(
            f"cannot read the initial model {folder} ({error.strerror})",
            "a folder made by `attn train`",
        ) from None


def load_initial_weights(model: EncoderDecoder, start_from: str, tokenizer: Tokenizer) -> None:
    """Fill a new model with the initial weights: of a trained model, or of a pretrained encoder."""
    if start_from:
        fill_from(model, Path(start_from))
    elif encoder := pretrained_encoder(model):
        encoder.load_pretrained()
        labels = getattr(encoder, "labels", None)  # of an image network that names its images
        if labels is not None:
            labels.set_nouns(lambda noun: tokenizer.encode_target(noun)[:-1])


def load_vectors(model: EncoderDecoder, paths: Sequence[str], tokenizer: Tokenizer) -> None:
    """Fill embeddings with word vectors, at the scale of random ones; other tokens stay random.

    paths: one file for both sides, or one for each. Raises ConfigurationError for vectors of
    another size than the embeddings.
    """
    filled: set[tuple[int, int]] = set()  # embeddings that are shared have the first vector
    sides = ((model.encoder, tokenizer.source), (model.decoder, tokenizer.target))
    for number, (part, processor) in enumerate(sides if paths else ()):
        embedding = getattr(part, "embedding", None)
        if not isinstance(embedding, Embedding):
            continue
        pieces = map(processor.id_to_piece, range(len(embedding.weight)))
        words = {piece[1:]: n for n, piece in enumerate(pieces) if piece.startswith(SPACE)}
        path = Path(paths[min(number, len(paths) - 1)])
        found = read_vectors(path, words)
        values = torch.from_numpy(np.stack([*found.values()]))
        size = embedding.weight.shape[1]
        if values.shape[1] != size:
            raise ConfigurationError(
                f"word vectors of {values.shape[1]} numbers in {path} for embeddings of {size}",
                f"-s model.embedding={values.shape[1]}",
            )
        values *= size**-0.5 / values.square().mean().sqrt()
        for word, value in zip(found, values, strict=True):
            place = id(embedding), words[word]
            if place not in filled:
                embedding.weight.data[words[word]] = value
                filled.add(place)
        console.say(f"{path.name}: vectors of {len(found):,} of {len(embedding.weight):,} tokens")


def load_initial_encoder(encoder: ImageEncoder, start_from: str, name: str) -> None:
    """Fill an encoder alone with the weights that `load_initial_weights` would give it.

    name: of the encoder in the model, such as encoder.image.
    """
    if start_from:
        whole: nn.Module = encoder
        for part in reversed(name.split(".")):
            outer = nn.Module()
            outer.add_module(part, whole)
            whole = outer
        fill_from(whole, Path(start_from), others=True)
    else:
        encoder.load_pretrained()
