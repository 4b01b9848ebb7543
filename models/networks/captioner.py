"""Families that describe images."""

from __future__ import annotations

from models.attention.layers import Embedding
from models.core.errors import ConfigurationError
from models.core.types import VocabularySizes
from models.networks._captioning import AdaptiveDecoder, ShowAttendTellDecoder, TopDownDecoder
from models.networks.config import CaptionerTransformerConfig
from models.networks.family import RecurrentCaptioner, TransformerModel, embedding_scale
from models.networks.image_encoder import ImageEncoder
from models.networks.transformer import ImageTransformerEncoder


class ShowAttendTell(RecurrentCaptioner):
    """Show, Attend and Tell: an LSTM with soft or hard attention to image cells.

    z_t = beta_t Attention(h_{t-1}, a);  h_t = LSTM(E y_{t-1}, h_{t-1}, z_t)
    p(y_t) = softmax(L_o (E y_{t-1} + L_h h_t + L_z z_t));  beta_t = sigmoid(f_beta(h_{t-1}))
    Source: Xu et al. 2015.
    """

    decoder_class = ShowAttendTellDecoder
    feature_size = "embedding"


class CaptionerAdaptive(RecurrentCaptioner):
    """Captions by adaptive attention to image cells, or to a sentinel of the decoder.

    context_t = sum_i weights_i v_i + beta s_t;  s_t = sigmoid(W_x x_t + W_h h_{t-1}) * tanh(m_t)
    Source: Lu, Xiong, Parikh, Socher 2017, eq. 6 to 13.
    The gate of a word, which maps show, is 1 - beta. The first state is a map of the mean cell.
    """

    decoder_class = AdaptiveDecoder


class CaptionerTopDown(RecurrentCaptioner):
    """Captions by top-down attention: one LSTM attends to cells, a second writes the words.

    h1_t = LSTM([h2_{t-1}; mean a; E y_{t-1}]);  z_t = Attention(h1_t, a);  h2_t = LSTM([z_t; h1_t])
    Source: Anderson, He, Buehler, Teney, Johnson, Gould, Zhang 2018, section 3.2.
    The slots are cells of a grid in place of the paper's detected regions. The first states are
    maps of the mean cell instead of 0.
    """

    decoder_class = TopDownDecoder


class CaptionerTransformer(TransformerModel):
    """Captions by a Transformer whose decoder attends to image cells.

    x_rc = W a_rc + row_r + column_c, then `encoder_layers` self-attention blocks (0: none); the
    decoder is the Transformer's text decoder.
    Source: Vaswani et al. 2017; image features as in Cornia et al. 2020, without memory vectors.
    """

    def __init__(self, config: CaptionerTransformerConfig, sizes: VocabularySizes) -> None:
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
