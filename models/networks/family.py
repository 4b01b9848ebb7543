"""Parts shared by several families: embeddings, the recurrent encoder, the builders of models."""

from __future__ import annotations

from typing import Any, ClassVar

from torch import nn

from models.attention.layers import Embedding
from models.attention.transformer import CrossAttention
from models.core.attention_config import RECURRENT_SCORE
from models.core.config import (
    AttendingConfig,
    BlocksConfig,
    DecoderConfig,
    EncoderConfig,
    ReadoutConfig,
    RecurrentEncoderConfig,
    TransformerDecoderConfig,
)
from models.core.errors import ConfigurationError
from models.core.registry import find
from models.core.types import VocabularySizes
from models.networks.config import (
    AdaptiveConfig,
    CaptionerConfig,
    LuongConfig,
    RnnSearchConfig,
    Seq2SeqConfig,
    TopDownConfig,
)
from models.networks.decoder import Decoder
from models.networks.encoder_decoder import EncoderDecoder, Output
from models.networks.image_encoder import ImageEncoder, pretrained_parameters
from models.networks.recurrent import RnnEncoder
from models.networks.transformer import CrossAttentionKind, TransformerDecoder


def embeddings(
    config: DecoderConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> tuple[Embedding, Embedding]:
    """Build source and target embeddings; one embedding if vocabulary and weights are shared."""
    if isinstance(config, EncoderConfig):
        check_encoder_layers(config)
    target = Embedding(sizes.target, config.embedding, scale=scale)
    if sizes.joint and config.tied:
        return target, target
    return Embedding(sizes.source, config.embedding, scale=scale), target


def embedding_scale(config: BlocksConfig) -> float:
    """Return the factor of a Transformer's embeddings."""
    return float(config.embedding**0.5) if config.embedding_scale else 1.0


def source_embedding(
    config: EncoderConfig, sizes: VocabularySizes, *, scale: float = 1.0
) -> Embedding:
    """Build the embedding of a model whose target side has none."""
    check_encoder_layers(config)
    return Embedding(sizes.source, config.embedding, scale=scale)


def check_encoder_layers(config: EncoderConfig) -> None:
    """Raise ConfigurationError for a text model without encoder layers."""
    if config.encoder_layers < 1:
        raise ConfigurationError("model.encoder_layers = 0", "at least 1 for a text model")


def recurrent_encoder(
    embedding: Embedding, config: RecurrentEncoderConfig, *, attends: bool = True
) -> RnnEncoder:
    """Build the recurrent encoder of a model.

    attends: True if the decoder has attention, whose score may require slots of the query's size.
    """
    compares = attends and isinstance(config, AttendingConfig) and needs_equal_sizes(config)
    halved = compares and config.bidirectional
    hidden = config.hidden // 2 if halved else config.hidden
    return RnnEncoder(embedding, config, hidden)


def needs_equal_sizes(config: AttendingConfig) -> bool:
    """Return True if the attention compares query and keys directly, as dot products do.

    The two directions of a bidirectional encoder then have half the decoder's size each, as in
    OpenNMT. Several heads need no equal sizes, because each projects query and keys.
    """
    score = find("score", config.attention.score or RECURRENT_SCORE)
    return bool(score.needs_equal_sizes) and config.attention.heads == 1


def initialise(model: EncoderDecoder) -> None:
    """Set weights to Glorot's uniform distribution, biases to 0; skip a pretrained network."""
    pretrained = {id(parameter) for parameter in pretrained_parameters(model)}
    for name, parameter in model.named_parameters():
        if id(parameter) in pretrained:
            continue
        # embeddings keep the deviation that `Embedding` gave them
        if parameter.dim() > 1 and "embedding" not in name:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith(".bias"):
            nn.init.zeros_(parameter)


class RecurrentModel(EncoderDecoder):
    """A recurrent decoder behind an encoder; the output layer reads the decoder's readout."""

    def __init__(
        self,
        config: ReadoutConfig,
        sizes: VocabularySizes,
        encoder: nn.Module,
        decoder: Decoder[Any, Any],
        target: Embedding,
    ) -> None:
        readout = config.readout or config.embedding
        output = Output(sizes.target, readout, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)


class RecurrentTranslator(RecurrentModel):
    """A recurrent encoder and decoder of texts."""

    decoder_class: ClassVar[type[Any]]
    final: ClassVar[str] = "final_size"  # the encoder's size of what the first state is made of

    def __init__(
        self, config: Seq2SeqConfig | RnnSearchConfig | LuongConfig, sizes: VocabularySizes
    ) -> None:
        source, target = embeddings(config, sizes)
        encoder = recurrent_encoder(source, config, attends=self.decoder_class.attends)
        value_size, final_size = encoder.value_size, getattr(encoder, self.final)
        decoder = self.decoder_class(target, config, value_size=value_size, final_size=final_size)
        super().__init__(config, sizes, encoder, decoder, target)


class TransformerModel(EncoderDecoder):
    """A Transformer's decoder behind an encoder.

    value_size: features of its slots, if not D. cross, aligns: see TransformerDecoder.
    """

    def __init__(
        self,
        config: TransformerDecoderConfig,
        sizes: VocabularySizes,
        encoder: nn.Module,
        target: Embedding,
        value_size: int = 0,
        *,
        cross: CrossAttentionKind = CrossAttention,
        aligns: bool = False,
    ) -> None:
        decoder = TransformerDecoder(target, config, value_size, cross=cross, aligns=aligns)
        tied_to, transform = target if config.tied else None, config.output_transform
        output = Output(sizes.target, config.embedding, tied_to, config if transform else None)
        super().__init__(config, encoder, decoder, output)
        initialise(self)


class RecurrentCaptioner(EncoderDecoder):
    """Captions by a recurrent decoder that attends to image cells."""

    decoder_class: ClassVar[type[Any]]
    feature_size: ClassVar[str] = "hidden"  # setting with the size of what the output layer reads

    def __init__(
        self, config: CaptionerConfig | AdaptiveConfig | TopDownConfig, sizes: VocabularySizes
    ) -> None:
        target = Embedding(sizes.target, config.embedding)
        encoder = ImageEncoder(config)
        decoder = self.decoder_class(target, config, value_size=encoder.value_size)
        size = getattr(config, self.feature_size)
        output = Output(sizes.target, size, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
