"""Captions by a Transformer over the cells of an image."""

from __future__ import annotations

from dataclasses import replace

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.transformer import TransformerDecoder
from models.encoders.transformer import ImageTransformerEncoder
from models.families.encoder_decoder import EncoderDecoder, Output
from models.families.transformer import initialise
from models.layers import Embedding


class CaptionerTransformer(EncoderDecoder):
    """Captions by a Transformer whose decoder attends to image cells.

    x_rc = W a_rc + row_r + column_c, then `encoder_layers` self-attention blocks (0: none); the
    decoder is the Transformer's text decoder.
    Source: Vaswani et al. 2017; image features as in Cornia et al. 2020, without memory vectors.
    """

    source = "image"
    settings = (
        "encoder_layers",
        "heads",
        "attention_dropout",
        "position",
        "mixing",
        "attention",
        "self_attention",
        "image",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        size = config.embedding
        target = Embedding(sizes.target, size, scale=size**0.5)
        super().__init__(
            config,
            ImageTransformerEncoder(config),
            TransformerDecoder(target, replace(config, alignment_layer=False)),
            Output(sizes.target, size, target if config.tied else None),
        )
        initialise(self)
