"""A penalty on the score that grows with the distance."""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.positions.base import Position


class Alibi(Position):
    """ALiBi: the score falls with the distance, at a fixed rate for each head.

    score'(q_t, k_i) = score(q_t, k_i) - m_h |t - i|;  m_h = 2^(-8 h / H),  h = 1 .. H
    Source: Press, Smith, Lewis 2022, section 3.
    An encoder uses the distance in both directions.
    """

    in_attention = True

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor:
        """Return an addition (1, H, T, S) to the scores of queries (B, H, T, d)."""
        heads, device = query.shape[1], query.device
        rates = 2.0 ** (-8 * torch.arange(1, heads + 1, device=device) / heads)  # m
        steps = torch.arange(start, start + query.shape[2], device=device)
        distance = (torch.arange(slots, device=device) - steps[:, None]).abs()  # (T, S)
        return (-rates[:, None, None] * distance)[None]
