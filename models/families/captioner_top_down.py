"""Captions by top-down attention between two recurrent layers."""

from __future__ import annotations

from models.decoders.top_down import TopDownDecoder
from models.families.base import RecurrentCaptioner


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
