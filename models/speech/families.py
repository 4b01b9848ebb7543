"""Families that transcribe sound."""

from __future__ import annotations

from models.attention.layers import Embedding
from models.core.types import VocabularySizes
from models.networks.family import (
    RecurrentModel,
    TransformerModel,
    embedding_scale,
    needs_equal_sizes,
)
from models.networks.recurrent import RnnDecoder
from models.speech._encoder import ConvolutionalEncoder, PyramidEncoder, WindowEncoder
from models.speech.config import ListenAttendSpellConfig, SpeechTransformerConfig


class ListenAttendSpell(RecurrentModel):
    """Listen, Attend and Spell: a pyramid of recurrent layers, read by a recurrent decoder.

    h^j_i = BiLSTM(h^j_{i-1}, [h^{j-1}_{2i}; h^{j-1}_{2i+1}])
    c_t = Attention(s_{t-1}, h);  s_t = LSTM(s_{t-1}, y_{t-1}, c_t);  s_0 = tanh(W <-h_1)
    Source: Chan, Jaitly, Le, Vinyals 2016; attention with s_{t-1} as in Chorowski et al. 2015.
    The decoder is that of RNNsearch. The paper's attention is model.attention.score=dot; that of
    Chorowski et al. is location_aware.
    """

    def __init__(self, config: ListenAttendSpellConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding)
        halved = config.bidirectional and needs_equal_sizes(config)
        encoder = PyramidEncoder(config, config.hidden // 2 if halved else config.hidden)
        decoder = RnnDecoder(
            target, config, value_size=encoder.value_size, final_size=encoder.hidden
        )
        super().__init__(config, sizes, encoder, decoder, target)


class SpeechTransformer(TransformerModel):
    """Speech-Transformer: two convolutions of stride 2, then a Transformer.

    x = W relu(K_2 * relu(K_1 * f)), then self-attention blocks; the decoder is the Transformer's
    text decoder.
    Source: Dong, Xu, Xu 2018, without attention over time and frequency.
    In Whisper, the convolutions read time alone (model.audio.padded).
    """

    def __init__(self, config: SpeechTransformerConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding, scale=embedding_scale(config))
        encoder = (WindowEncoder if config.audio.padded else ConvolutionalEncoder)(config)
        super().__init__(config, sizes, encoder, target)
