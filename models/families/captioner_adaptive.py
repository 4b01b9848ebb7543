"""Captions by adaptive attention with a visual sentinel."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config.tables import ModelConfig
from models.decoders.adaptive import AdaptiveDecoder
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder, Output
from models.layers.blocks import Embedding


class CaptionerAdaptive(EncoderDecoder):
    """Captions by adaptive attention to image cells, or to a sentinel of the decoder.

    context_t = sum_i weights_i v_i + beta s_t;  s_t = sigmoid(W_x x_t + W_h h_{t-1}) * tanh(m_t)
    Source: Lu, Xiong, Parikh, Socher 2017, eq. 6 to 13.
    The gate of a word, which maps show, is 1 - beta. The first state is a map of the mean cell.
    """

    source = "image"
    settings = ("cell", "attention", "image")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding)
        encoder = ImageEncoder(config)
        decoder = AdaptiveDecoder(target, config, value_size=encoder.value_size)
        tied = target if config.tied and config.embedding == config.hidden else None
        super().__init__(config, encoder, decoder, Output(sizes.target, config.hidden, tied))
