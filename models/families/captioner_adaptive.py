"""Captions by adaptive attention with a visual sentinel."""

from __future__ import annotations

from models.decoders.adaptive import AdaptiveDecoder
from models.families.base import RecurrentCaptioner


class CaptionerAdaptive(RecurrentCaptioner):
    """Captions by adaptive attention to image cells, or to a sentinel of the decoder.

    context_t = sum_i weights_i v_i + beta s_t;  s_t = sigmoid(W_x x_t + W_h h_{t-1}) * tanh(m_t)
    Source: Lu, Xiong, Parikh, Socher 2017, eq. 6 to 13.
    The gate of a word, which maps show, is 1 - beta. The first state is a map of the mean cell.
    """

    source = "image"
    settings = ("cell", "attention", "image")
    decoder_class = AdaptiveDecoder
