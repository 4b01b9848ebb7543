"""Reads: combination of the values by the weights."""

from __future__ import annotations

from torch import Tensor

from models.attention.base import Read
from models.base.types import AttentionOutput


class Soft(Read):
    """Soft: the expectation of the values under the weights.

    context = sum_i weights_i value_i
    Source: Bahdanau, Cho, Bengio 2015, eq. 5.
    """

    def forward(self, weights: Tensor, values: Tensor) -> AttentionOutput:
        """Compute the context (B, T, V) from weights (B, T, S) and values (B, S, V)."""
        return AttentionOutput(weights.to(values.dtype) @ values, weights)
