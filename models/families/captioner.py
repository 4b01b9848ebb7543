"""Show, Attend and Tell: captions of images."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config.tables import ModelConfig
from models.decoders.show_attend_tell import ShowAttendTellDecoder
from models.encoders.image import ImageEncoder
from models.families.encoder_decoder import EncoderDecoder, Output
from models.layers.blocks import Embedding


class ShowAttendTell(EncoderDecoder):
    """Show, Attend and Tell: an LSTM with soft or hard attention to image cells.

    z_t = beta_t Attention(h_{t-1}, a);  h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
    p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t));  beta_t = sigmoid(f_beta(h_{t-1}))
    Source: Xu et al. 2015.
    """

    source = "image"
    settings = ("cell", "readout", "gate", "attention", "image")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding)
        encoder = ImageEncoder(config)
        decoder = ShowAttendTellDecoder(target, config, value_size=encoder.value_size)
        tied = target if config.tied else None
        super().__init__(config, encoder, decoder, Output(sizes.target, config.embedding, tied))
