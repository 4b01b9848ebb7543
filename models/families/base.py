"""Parts shared by several families: embeddings, the recurrent encoder, the recurrent captioner."""

from __future__ import annotations

from typing import Any, ClassVar

from models.base.errors import ConfigurationError
from models.base.registry import find
from models.base.types import VocabularySizes
from models.config import RECURRENT_SCORE, ModelConfig
from models.encoders.image import ImageEncoder
from models.encoders.recurrent import RnnEncoder
from models.families.encoder_decoder import EncoderDecoder, Output
from models.layers import Embedding


def embeddings(
    config: ModelConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> tuple[Embedding, Embedding]:
    """Build source and target embeddings; one embedding if vocabulary and weights are shared."""
    check_encoder_layers(config)
    target = Embedding(sizes.target, config.embedding, scale=scale)
    if sizes.joint and config.tied:
        return target, target
    return Embedding(sizes.source, config.embedding, scale=scale), target


def embedding_scale(config: ModelConfig) -> float:
    """Return the factor of a Transformer's embeddings."""
    return float(config.embedding**0.5) if config.embedding_scale else 1.0


def source_embedding(
    config: ModelConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> Embedding:
    """Build the embedding of a model whose target side has none."""
    check_encoder_layers(config)
    return Embedding(sizes.source, config.embedding, scale=scale)


def transformer_output(config: ModelConfig, sizes: VocabularySizes, target: Embedding) -> Output:
    """Build a Transformer's output layer."""
    tied_to = target if config.tied else None
    return Output(
        sizes.target, config.embedding, tied_to, config if config.output_transform else None
    )


def check_encoder_layers(config: ModelConfig) -> None:
    """Raise ConfigurationError for a text model without encoder layers."""
    if config.encoder_layers < 1:
        raise ConfigurationError("model.encoder_layers = 0", "at least 1 for a text model")


def recurrent_encoder(
    embedding: Embedding, config: ModelConfig, *, attends: bool = True
) -> RnnEncoder:
    """Build the recurrent encoder of a model.

    attends: True if the decoder has attention, whose score may require slots of the query's size.
    """
    halved = attends and config.bidirectional and needs_equal_sizes(config)
    hidden = config.hidden // 2 if halved else config.hidden
    return RnnEncoder(embedding, config, hidden)


def needs_equal_sizes(config: ModelConfig) -> bool:
    """Return True if the attention compares query and keys directly, as dot products do.

    The two directions of a bidirectional encoder then have half the decoder's size each, as in
    OpenNMT. Several heads need no equal sizes, because each projects query and keys.
    """
    score = find("score", config.attention.score or RECURRENT_SCORE)
    return bool(score.needs_equal_sizes) and config.attention.heads == 1


class RecurrentCaptioner(EncoderDecoder):
    """Captions by a recurrent decoder that attends to image cells."""

    decoder_class: ClassVar[type[Any]]
    feature_size: ClassVar[str] = "hidden"  # setting with the size of what the output layer reads

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding)
        encoder = ImageEncoder(config)
        decoder = self.decoder_class(target, config, value_size=encoder.value_size)
        size = getattr(config, self.feature_size)
        output = Output(sizes.target, size, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
