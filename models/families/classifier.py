"""Classifiers: an encoder of texts, and a pooling from which one label is predicted."""

from __future__ import annotations

from models.base.errors import ConfigurationError
from models.base.registry import find
from models.base.types import VocabularySizes
from models.config import ModelConfig
from models.decoders.pooling import PoolingDecoder
from models.encoders.transformer import TransformerEncoder
from models.families.base import embedding_scale, recurrent_encoder, source_embedding
from models.families.encoder_decoder import EncoderDecoder, Output
from models.families.text import initialise


class RecurrentClassifier(EncoderDecoder):
    """Classifier: a recurrent encoder and a pooling, such as the Bi-LSTM with attention.

    p(label) = softmax(W Pooling(h_1 .. h_S) + b);  h = Bi-LSTM(x)
    Source: Zhou, Shi, Tian, Qi, Li, Hao, Xu 2016.
    """

    source = "labelled_text"
    settings = ("recurrence", "pooling", "attention")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        embedding = source_embedding(config, sizes)
        encoder = recurrent_encoder(embedding, config, attends=False)
        decoder = PoolingDecoder(encoder.value_size, config)
        output = Output(sizes.target, decoder.pooling.pooled_size, None)
        super().__init__(config, encoder, decoder, output)


class TransformerClassifier(EncoderDecoder):
    """Classifier with a Transformer encoder and a pooling.

    p(label) = softmax(W Pooling(h_1 .. h_S) + b);  h = TransformerEncoder(x)
    Source: Vaswani et al. 2017.
    """

    source = "labelled_text"
    settings = ("blocks", "pooling", "attention", "max_source")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        if find("mixing", config.mixing).decodes_only:
            raise ConfigurationError(
                f"model.mixing={config.mixing} for a classifier, which has no decoder of a prefix",
                "model.mixing=attention or linear",
            )
        embedding = source_embedding(config, sizes, scale=embedding_scale(config))
        decoder = PoolingDecoder(config.embedding, config)
        output = Output(sizes.target, decoder.pooling.pooled_size, None)
        super().__init__(config, TransformerEncoder(embedding, config), decoder, output)
        initialise(self)
