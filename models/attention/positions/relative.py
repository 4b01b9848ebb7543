"""Learned vectors of the distance between query and key, as a part of the score."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.attention.positions.base import Position
from models.config import ModelConfig

REACH = 16  # k of the paper: farther distances share a vector


class Relative(Position):
    """Relative (Shaw): the score adds the query's product with a vector of the distance.

    score'(q_t, k_i) = score(q_t, k_i) + q_t^T a_(i - t) / sqrt(d);  |i - t| clipped at 16
    Source: Shaw, Uszkoreit, Vaswani 2018, eq. 4 and 5.
    Each layer has its vectors, which its heads share. The vectors of the values, eq. 3, are left
    out: the paper's table 3 finds no gain from them.
    """

    in_attention = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        size = config.embedding // config.heads
        self.embedding = nn.Parameter(torch.randn(2 * REACH + 1, size) * size**-0.5)  # a

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor:
        """Return an addition (B, H, T, S) to the scores of queries (B, H, T, d)."""
        steps = torch.arange(start, start + query.shape[2], device=query.device)
        distance = torch.arange(slots, device=query.device) - steps[:, None]  # (T, S)
        rows = distance.clamp(-REACH, REACH) + REACH
        each = query @ self.embedding.T * query.shape[-1] ** -0.5  # (B, H, T, 2 * REACH + 1)
        return each.gather(-1, rows.expand(*query.shape[:2], *rows.shape))
