"""Luong's model: attention after the recurrence, with input feeding."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.luong import LuongDecoder
from models.families.base import embeddings, recurrent_encoder
from models.families.encoder_decoder import EncoderDecoder, Output


class Luong(EncoderDecoder):
    """Luong: attention after the recurrence, input feeding.

    c_t = Attention(s_t, h);  a_t = tanh(W_c [c_t; s_t]);  a_t enters step t + 1
    Source: Luong, Pham, Manning 2015.
    """

    settings = (
        "encoder_layers",
        "cell",
        "readout",
        "bidirectional",
        "encoder_attention",
        "input_feeding",
        "max_source",
        "copy",
        "attention",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes)
        encoder = recurrent_encoder(source, config)
        decoder = LuongDecoder(
            target, config, value_size=encoder.value_size, final_size=encoder.final_size
        )
        output = Output(sizes.target, decoder.size, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
