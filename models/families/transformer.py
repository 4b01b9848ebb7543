"""The Transformer: attention in place of recurrence."""

from __future__ import annotations

from torch import nn

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.transformer import TransformerDecoder
from models.encoders.image import pretrained_parameters
from models.encoders.transformer import TransformerEncoder
from models.families.base import embedding_scale, embeddings, transformer_output
from models.families.encoder_decoder import EncoderDecoder


class Transformer(EncoderDecoder):
    """Transformer: self-attention, multi-head, no recurrence.

    Embeddings are tied to the output, and to each other if the vocabulary is joint; keys and values
    are cached in decoding.
    Source: Vaswani et al. 2017.
    """

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
        "copy",
        "alignment_layer",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes, scale=embedding_scale(config))
        super().__init__(
            config,
            TransformerEncoder(source, config),
            TransformerDecoder(target, config),
            transformer_output(config, sizes, target),
        )
        initialise(self)


def initialise(model: EncoderDecoder) -> None:
    """Set weights to Glorot's uniform distribution, biases to 0; skip a pretrained network."""
    pretrained = {id(parameter) for parameter in pretrained_parameters(model)}
    for name, parameter in model.named_parameters():
        if id(parameter) in pretrained:
            continue
        if parameter.dim() > 1 and "embedding" not in name:
            nn.init.xavier_uniform_(parameter)
        elif name.endswith(".bias"):
            nn.init.zeros_(parameter)
