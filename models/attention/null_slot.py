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

    def added(
        self,
        scores: Tensor,
        values: Tensor,
        slots: Tensor,
        share: Tensor | None,
        sentinel: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Add the slot to scores (B, T, S), values (B, S, V), and slots (B, 1 or T, S) in a window.

        It is inside every window, with the factor 1 on its weight; share (B, T, S): those of the
        others. sentinel (B, T, 1): addition to its score.
        """
        own = self.score.to(scores.dtype).expand(*scores.shape[:2], 1)
        scores = torch.cat([own if sentinel is None else own + sentinel, scores], 2)
        share = None if share is None else pad(share, (1, 0), value=1.0)
        return scores, pad(values, (0, 0, 1, 0)), pad(slots, (1, 0), value=True), share

    def removed(self, attended: AttentionOutput) -> AttentionOutput:
        """Return a result without the slot's weight."""
        return attended._replace(weights=attended.weights[..., 1:])
