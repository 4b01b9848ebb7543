"""Negative Manhattan distance of key and query: -sum_k |s_k - h_k|."""

import torch
from torch import Tensor

from models.attention.base import Score


class Manhattan(Score):
    """Manhattan: a key scores higher the nearer it is to the query, along the axes.

    score(s, h) = -sum_k |s_k - h_k|
    Source: yours.
    """

    needs_equal_sizes = True

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return scores (B, T, S)."""
        return -torch.cdist(query, keys, p=1)
