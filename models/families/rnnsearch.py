"""RNNsearch: the first attention model."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.rnn import RnnDecoder
from models.families.base import embeddings, recurrent_encoder
from models.families.encoder_decoder import EncoderDecoder, Output


class RnnSearch(EncoderDecoder):
    """RNNsearch (Bahdanau): attention before the recurrence, deep output.

    c_t = Attention(s_{t-1}, h);  s_t = f(s_{t-1}, y_{t-1}, c_t);  s_0 = tanh(W <-h_1)
    Source: Bahdanau, Cho, Bengio 2015.
    The output depends on s_t, as in eq. 4; appendix A.2.2 writes s_{t-1}.
    """

    settings = (
        "encoder_layers",
        "cell",
        "readout",
        "bidirectional",
        "encoder_attention",
        "max_source",
        "copy",
        "attention",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes)
        encoder = recurrent_encoder(source, config)
        decoder = RnnDecoder(
            target,
            config,
            value_size=encoder.value_size,
            final_size=encoder.hidden,  # <-h_1 is the last part of the encoder's final states
        )
        readout = config.readout or config.embedding
        output = Output(sizes.target, readout, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
