"""Captions by a Transformer over the cells of an image."""

from __future__ import annotations

from dataclasses import replace

from models.base.errors import ConfigurationError
from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.transformer import TransformerDecoder
from models.encoders.image import ImageEncoder
from models.encoders.transformer import ImageTransformerEncoder
from models.families.base import embedding_scale, transformer_output
from models.families.encoder_decoder import EncoderDecoder
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
        "position_offset",
        "norm",
        "norm_epsilon",
        "embedding_norm",
        "embedding_scale",
        "activation",
        "output_transform",
        "mixing",
        "attention",
        "self_attention",
        "image",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding, scale=embedding_scale(config))
        projects = config.image.project
        if not projects and config.encoder_layers:
            raise ConfigurationError(
                f"model.encoder_layers={config.encoder_layers} with model.image.project=false",
                "model.encoder_layers=0",
            )
        encoder = (ImageTransformerEncoder if projects else ImageEncoder)(config)
        size = 0 if projects else encoder.value_size
        super().__init__(
            config,
            encoder,
            TransformerDecoder(target, replace(config, alignment_layer=False), size),
            transformer_output(config, sizes, target),
        )
        initialise(self)
