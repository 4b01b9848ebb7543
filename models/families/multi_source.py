"""Recurrent decoder that attends to several inputs: texts, or texts and an image."""

from __future__ import annotations

from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.rnn import RnnDecoder
from models.encoders.image import ImageEncoder
from models.families.base import embeddings, recurrent_encoder
from models.families.encoder_decoder import EncoderDecoder, Output
from models.families.several_inputs import SeveralInputs
from models.numerics.linear import Linear
from models.sources.rows import columns_of


class MultiSource(EncoderDecoder):
    """Several inputs: the decoder of RNNsearch attends to texts, or to texts and an image.

    c_t = Combination(s_{t-1}, h^(1), .., h^(K));  s_t = f(s_{t-1}, y_{t-1}, c_t)
    s_0 = tanh(W [last state of each input])
    Source: Zoph and Knight 2016; Libovický and Helcl 2017, section 3.
    `model.inputs` names the inputs; `model.combination` chooses how the decoder attends to them.
    """

    source = "rows"
    settings = (
        "encoder_layers",
        "cell",
        "readout",
        "bidirectional",
        "encoder_attention",
        "max_source",
        "inputs",
        "combination",
        "attention",
        "image",
    )

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        columns = columns_of(config.inputs)
        source, target = embeddings(config, sizes)
        texts = [recurrent_encoder(source, config) for _ in range(columns.texts)]
        size, final_size = texts[0].value_size, sum(each.final_size for each in texts)
        encoder = SeveralInputs(texts)
        if columns.has_image:
            image = ImageEncoder(config)
            encoder = SeveralInputs(texts, image, Linear(image.value_size, size))
            final_size += size
        decoder = RnnDecoder(target, config, value_size=size, final_size=final_size)
        readout = config.readout or config.embedding
        output = Output(sizes.target, readout, target if config.tied else None)
        super().__init__(config, encoder, decoder, output)
