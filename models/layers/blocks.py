"""Layers shared by encoders and decoders: embeddings, positions, the feed-forward block."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.numerics.dropout import Dropout
from models.numerics.linear import Linear


class Embedding(nn.Module):
    """Token ids to vectors, times a constant scale: the root of their size in a Transformer.

    Source: Vaswani et al. 2017, section 3.4.
    """

    def __init__(self, vocabulary: int, size: int, *, scale: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(vocabulary, size) * size**-0.5)
        self.scale = scale

    def forward(self, ids: Tensor) -> Tensor:
        """Return vectors (..., D) of ids (...)."""
        return nn.functional.embedding(ids, self.weight) * self.scale


class FeedForward(nn.Module):
    """Two linear maps with a ReLU between them, applied at every position.

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2
    Source: Vaswani et al. 2017, eq. 2.
    """

    def __init__(self, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.inner = Linear(size, hidden)
        self.outer = Linear(hidden, size)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Map x (B, T, D) to (B, T, D)."""
        return self.outer(self.dropout(self.inner(x).relu_()))


def positions(start: int, length: int, size: int, device: torch.device) -> Tensor:
    """Return sinusoidal position codes (length, size). Vaswani et al. 2017, section 3.5.

    The sines fill the first half and the cosines the second, as in tensor2tensor.
    """
    half = size // 2
    steps = torch.arange(half, device=device)
    rates = torch.exp(steps * (-math.log(10000.0) / max(1, half - 1)))
    angles = torch.arange(start, start + length, device=device)[:, None] * rates
    code = torch.cat([angles.sin(), angles.cos()], 1)
    return nn.functional.pad(code, (0, size - 2 * half))
