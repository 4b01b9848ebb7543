"""Transformer that attends to several inputs: texts, or texts and an image."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.transformer import TransformerDecoder
from models.encoders.transformer import ImageTransformerEncoder, TransformerEncoder
from models.families.base import embedding_scale, embeddings, transformer_output
from models.families.encoder_decoder import EncoderDecoder
from models.families.several_inputs import SeveralInputs
from models.families.transformer import initialise
from models.sources.rows import columns_of


class MultiSourceTransformer(EncoderDecoder):
    """Several inputs: a Transformer whose decoder attends to texts, or texts and an image.

    x <- x + W_O Combination(LayerNorm(x), h^(1), .., h^(K))
    Source: Libovický, Helcl and Mareček 2018.
    Each input has an encoder of its own. `model.inputs` names the inputs; `model.combination`
    chooses how the decoder attends to them.
    """

    source = "rows"
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
        "max_source",
        "inputs",
        "combination",
        "image",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        columns = columns_of(config.inputs)
        source, target = embeddings(config, sizes, scale=embedding_scale(config))
        texts = [TransformerEncoder(source, config) for _ in range(columns.texts)]
        encoder = SeveralInputs(texts)
        if columns.has_image:
            encoder = SeveralInputs(texts, ImageTransformerEncoder(config), nn.Identity())
        super().__init__(
            config,
            encoder,
            TransformerDecoder(target, replace(config, alignment_layer=False)),
            transformer_output(config, sizes, target),
        )
        initialise(self)
