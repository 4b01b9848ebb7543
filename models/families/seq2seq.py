"""Sequence to sequence without attention: the baseline for attention models."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.rnn import FixedContextDecoder
from models.families.base import embeddings, recurrent_encoder
from models.families.encoder_decoder import EncoderDecoder, Output


class Seq2Seq(EncoderDecoder):
    """Sequence to sequence: no attention, one fixed context for every step.

    c = h_S, the encoder's last state. Quality decreases with sentence length.
    Source: Cho et al. 2014; Sutskever, Vinyals, Le 2014.
    """

    settings = (
        "encoder_layers",
        "cell",
        "readout",
        "bidirectional",
        "encoder_attention",
        "max_source",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes)
        encoder = recurrent_encoder(source, config, attends=False)
        decoder = FixedContextDecoder(target, config, final_size=encoder.final_size)
        readout = config.readout or config.embedding
        output = Output(sizes.target, readout, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
