"""A new model of a run: what it must have, and its word vectors. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from attncli.terminal import console
from attncli.train.log import check_listeners
from attncli.training.config import RunConfig
from attncli.training.start import start_of
from models.attention.layers import Embedding
from models.core.errors import ConfigurationError
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import AttentionLoss
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
    check_listeners(train.loggers)
    with torch.device("meta"):
        model = build(config.model, VocabularySizes(TOKENS, TOKENS, config.tokenizer.joint))
    AttentionLoss(train.attention, model)
    if config.start_from and config.model.vectors:
        found = f"model.vectors with the initial model {config.start_from}"
        raise ConfigurationError(found, "one of them")
    start_of(config.start_from).check(config)


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
