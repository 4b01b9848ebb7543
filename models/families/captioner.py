"""Show, Attend and Tell: captions of images."""

from __future__ import annotations

from models.decoders.show_attend_tell import ShowAttendTellDecoder
from models.families.base import RecurrentCaptioner


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
