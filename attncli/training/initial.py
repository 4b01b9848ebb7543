"""The initial model of a run: what it must have, and its weights. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import nn

from attncli.terminal import console
from attncli.training.log import check_listeners
from attncli.training.settings.config import RunConfig
from models.attention.layers import Embedding
from models.core.config import ModelConfig
from models.core.errors import ConfigurationError, ModelError
from models.core.settings import from_dict
from models.core.types import VocabularySizes
from models.core.use_config import TokenizerConfig
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import ImageEncoder, pretrained_encoder
from models.networks.losses import AttentionLoss
from models.storage.settings import read_settings
from models.storage.weights import fill_from
from models.text.tokenizer import SPACE, Tokenizer, new_parts, read_tokenizer
from models.text.vectors import read_vectors

TOKENS = 1000  # any vocabulary size: the checks do not depend on it


def check_buildable(config: RunConfig) -> None:
    """Raise the ModelError that building the model and loss would raise; allocate no weights."""
    train = config.train
    if train.schedule == "linear" and not (train.minutes or train.steps or train.epochs):
        raise ConfigurationError(
            "train.schedule=linear", "train.minutes, train.steps or train.epochs with it"
        )
    check_listeners(train.loggers)
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
    if replace(tokenizer, directions=stored.directions, model=()) != stored:
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


def load_initial_weights(model: EncoderDecoder, start_from: str, tokenizer: Tokenizer) -> None:
    """Fill a new model with the initial weights: of a trained model, or of a pretrained encoder."""
    if start_from:
        old = read_tokenizer(Path(start_from))
        is_known = old.files() == tokenizer.files()
        fill_from(model, Path(start_from), parts=() if is_known else new_parts(old, tokenizer))
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
        values = torch.stack([*map(torch.from_numpy, found.values())])
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
