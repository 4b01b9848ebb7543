"""Normalisers: scores to weights."""

from __future__ import annotations

from torch import Tensor, nn

from models.attention.base import masked_softmax


class Softmax(nn.Module):
    """Softmax: exp of the scores over their sum.

    weights_i = exp(score_i) / sum_j exp(score_j)
    Source: Bahdanau, Cho, Bengio 2015, eq. 6.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return masked_softmax(scores, in_window)
