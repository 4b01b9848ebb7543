"""A slot of value 0 that every query can see: attention to nothing.

weights_i = exp(score_i) / (exp(b) + sum_j exp(score_j))       with softmax
                                      Xiao, Tian, Chen, Han and Lewis 2024, eq. 2, where b = 0

The slot is added after the scores and removed after the read, so scores and windows count the real
slots only. Without it, a step that needs nothing must put its weight on some slot.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from models.base.types import AttentionOutput


class NullSlot(nn.Module):
    """Slot 0, with a learned score b that is 0 at first, and a value of 0."""

    def __init__(self) -> None:
        super().__init__()
        self.score = nn.Parameter(torch.zeros(1))  # b

    def with_scores(self, scores: Tensor, sentinel: Tensor | None = None) -> Tensor:
        """Add the slot to scores (B, T, S); sentinel (B, T, 1): addition to its score."""
        own = self.score.to(scores.dtype).expand(*scores.shape[:2], 1)
        return torch.cat([own if sentinel is None else own + sentinel, scores], 2)

    def with_window(self, slots: Tensor, share: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Add the slot to those in a window, (B, 1 or T, S), and to the factors of their weights.

        It is inside every window, with the factor 1.
        """
        with_null = pad(slots, (1, 0), value=True)
        return with_null, None if share is None else pad(share, (1, 0), value=1.0)

    def with_values(self, values: Tensor) -> Tensor:
        """Add the slot to values (B, S, V)."""
        return pad(values, (0, 0, 1, 0))

    def removed(self, attended: AttentionOutput) -> AttentionOutput:
        """Return a result without the slot's weight."""
        return attended._replace(weights=attended.weights[..., 1:])
