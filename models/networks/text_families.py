"""Families that read one text: translators and classifiers."""

from __future__ import annotations

from models.core.errors import ConfigurationError
from models.core.registry import find
from models.core.types import VocabularySizes
from models.networks.config import (
    ClassifierConfig,
    TransformerClassifierConfig,
    TransformerConfig,
)
from models.networks.decoder import PoolingDecoder
from models.networks.encoder_decoder import EncoderDecoder, Output
from models.networks.family import (
    RecurrentTranslator,
    TransformerModel,
    embedding_scale,
    embeddings,
    initialise,
    recurrent_encoder,
    source_embedding,
)
from models.networks.recurrent import FixedContextDecoder, LuongDecoder, RnnDecoder
from models.networks.transformer import TransformerEncoder


class Seq2Seq(RecurrentTranslator):
    """Sequence to sequence: no attention, one fixed context for every step.

    c = h_S, the encoder's last state. Quality decreases with sentence length.
    Source: Cho et al. 2014; Sutskever, Vinyals, Le 2014.
    """

    decoder_class = FixedContextDecoder


class RnnSearch(RecurrentTranslator):
    """RNNsearch (Bahdanau): attention before the recurrence, deep output.

    c_t = Attention(s_{t-1}, h);  s_t = f(s_{t-1}, y_{t-1}, c_t);  s_0 = tanh(W <-h_1)
    Source: Bahdanau, Cho, Bengio 2015.
    The output depends on s_t, as in eq. 4; appendix A.2.2 writes s_{t-1}.
    """

    decoder_class = RnnDecoder
    final = "hidden"  # <-h_1 is the last part of the encoder's final states


class Luong(RecurrentTranslator):
    """Luong: attention after the recurrence, input feeding.

    c_t = Attention(s_t, h);  a_t = tanh(W_c [c_t; s_t]);  a_t enters step t + 1
    Source: Luong, Pham, Manning 2015.
    """

    decoder_class = LuongDecoder


class Transformer(TransformerModel):
    """Transformer: self-attention, multi-head, no recurrence.

    Embeddings are tied to the output, and to each other if the vocabulary is joint; keys and values
    are cached in decoding.
    Source: Vaswani et al. 2017.
    """

    def __init__(self, config: TransformerConfig, sizes: VocabularySizes) -> None:
        source, target = embeddings(config, sizes, scale=embedding_scale(config))
        encoder, aligns = TransformerEncoder(source, config), config.alignment_layer
        super().__init__(config, sizes, encoder, target, aligns=aligns)


class RecurrentClassifier(EncoderDecoder):
    """Classifier: a recurrent encoder and a pooling, such as the Bi-LSTM with attention.

    p(label) = softmax(W Pooling(h_1 .. h_S) + b);  h = Bi-LSTM(x)
    Source: Zhou, Shi, Tian, Qi, Li, Hao, Xu 2016.
    """

    def __init__(self, config: ClassifierConfig, sizes: VocabularySizes) -> None:
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

    def __init__(self, config: TransformerClassifierConfig, sizes: VocabularySizes) -> None:
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
