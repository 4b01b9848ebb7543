"""Attention that only aligns: it reads the decoder and the memory, and changes no output.

    a_t = mean over heads of softmax(Q LN([x_t; h_t]) (K LN(m))^T / sqrt(d))

x_t is the embedding of the token that step t reads, h_t the state after the first layer, m the
memory. Because step t has read its token, the weights align this token instead of a guess of the
next one (shift 1). The layer is trained by links while the rest of the model is frozen, so that the
translations do not change. Chen et al. 2020, section 3.2 (Shift-AET).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.base import masked_softmax
from models.numerics.linear import Linear


class AlignmentLayer(nn.Module):
    """Scaled dot attention without values."""

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.token_norm = nn.LayerNorm(size)
        self.state_norm = nn.LayerNorm(size)
        self.memory_norm = nn.LayerNorm(size)
        self.query = Linear(2 * size, size)
        self.key = Linear(size, size)

    def forward(self, tokens: Tensor, states: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        """Return weights (R, H, T, S).

        tokens, states (R, T, D): embeddings, and states after the first layer; memory (B, S, D),
        mask (B, S). R is a multiple of B.
        """
        times = tokens.shape[0] // memory.shape[0]
        read = torch.cat([self.token_norm(tokens), self.state_norm(states)], -1)
        query = self.query(read).unflatten(-1, (self.heads, -1)).transpose(1, 2)  # (R, H, T, d)
        keys = self.key(self.memory_norm(memory)).unflatten(-1, (self.heads, -1)).transpose(1, 2)
        keys, mask = (part.repeat_interleave(times, 0) for part in (keys, mask))
        scores = query @ keys.mT * query.shape[-1] ** -0.5
        return masked_softmax(scores, mask[:, None, None])
