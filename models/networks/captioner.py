"""Families that describe images, and those that transcribe sound."""

from __future__ import annotations

from models.attention.layers import Embedding
from models.core.config import ModelConfig
from models.core.errors import ConfigurationError
from models.core.types import VocabularySizes
from models.networks.captioning import AdaptiveDecoder, ShowAttendTellDecoder, TopDownDecoder
from models.networks.family import (
    RecurrentCaptioner,
    RecurrentModel,
    TransformerModel,
    embedding_scale,
    needs_equal_sizes,
)
from models.networks.image_encoder import ImageEncoder
from models.networks.recurrent_decoder import RnnDecoder
from models.networks.sound_encoder import ConvolutionalEncoder, PyramidEncoder, WindowEncoder
from models.networks.transformer_encoder import ImageTransformerEncoder


class ShowAttendTell(RecurrentCaptioner):
    """Show, Attend and Tell: an LSTM with soft or hard attention to image cells.

    z_t = beta_t Attention(h_{t-1}, a);  h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
    p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t));  beta_t = sigmoid(f_beta(h_{t-1}))
    Source: Xu et al. 2015.
    """

    source = "image"
    settings = ("cell", "readout", "attention", "image")
    decoder_class = ShowAttendTellDecoder
    feature_size = "embedding"


class CaptionerAdaptive(RecurrentCaptioner):
    """Captions by adaptive attention to image cells, or to a sentinel of the decoder.

    context_t = sum_i weights_i v_i + beta s_t;  s_t = sigmoid(W_x x_t + W_h h_{t-1}) * tanh(m_t)
    Source: Lu, Xiong, Parikh, Socher 2017, eq. 6 to 13.
    The gate of a word, which maps show, is 1 - beta. The first state is a map of the mean cell.
    """

    source = "image"
    settings = ("cell", "attention", "image")
    decoder_class = AdaptiveDecoder


class CaptionerTopDown(RecurrentCaptioner):
    """Captions by top-down attention: one LSTM attends to cells, a second writes the words.

    h1_t = LSTM([h2_{t-1}; mean a; E y_{t-1}]);  z_t = Attention(h1_t, a);  h2_t = LSTM([z_t; h1_t])
    Source: Anderson, He, Buehler, Teney, Johnson, Gould, Zhang 2018, section 3.2.
    The slots are cells of a grid in place of the paper's detected regions. The first states are
    maps of the mean cell instead of 0.
    """

    source = "image"
    settings = ("cell", "attention", "image")
    decoder_class = TopDownDecoder


class CaptionerTransformer(TransformerModel):
    """Captions by a Transformer whose decoder attends to image cells.

    x_rc = W a_rc + row_r + column_c, then `encoder_layers` self-attention blocks (0: none); the
    decoder is the Transformer's text decoder.
    Source: Vaswani et al. 2017; image features as in Cornia et al. 2020, without memory vectors.
    """

    source = "image"
    settings = ("blocks", "output_transform", "attention", "image")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding, scale=embedding_scale(config))
        projects = config.image.project
        if not projects and config.encoder_layers:
            raise ConfigurationError(
                f"model.encoder_layers={config.encoder_layers} with model.image.project=false",
                "model.encoder_layers=0",
            )
        encoder = (ImageTransformerEncoder if projects else ImageEncoder)(config)
        size = 0 if projects else encoder.value_size
        super().__init__(config, sizes, encoder, target, size)


class ListenAttendSpell(RecurrentModel):
    """Listen, Attend and Spell: a pyramid of recurrent layers, read by a recurrent decoder.

    h^j_i = BiLSTM(h^j_{i-1}, [h^{j-1}_{2i}; h^{j-1}_{2i+1}])
    c_t = Attention(s_{t-1}, h);  s_t = LSTM(s_{t-1}, y_{t-1}, c_t);  s_0 = tanh(W <-h_1)
    Source: Chan, Jaitly, Le, Vinyals 2016; attention with s_{t-1} as in Chorowski et al. 2015.
    The decoder is that of RNNsearch. The paper's attention is model.attention.score=dot; that of
    Chorowski et al. is location_aware.
    """

    source = "audio"
    settings = ("encoder_layers", "cell", "readout", "bidirectional", "attention", "audio")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
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

    source = "audio"
    settings = ("blocks", "output_transform", "attention", "audio")

    def __init__(self, config: ModelConfig, sizes: VocabularySizes) -> None:
        target = Embedding(sizes.target, config.embedding, scale=embedding_scale(config))
        encoder = (WindowEncoder if config.audio.padded else ConvolutionalEncoder)(config)
        super().__init__(config, sizes, encoder, target)
