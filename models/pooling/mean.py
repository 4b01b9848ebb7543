"""Mean of all slots."""

from __future__ import annotations

from models.base.types import AttentionOutput, Memory
from models.pooling.base import Pooling


class Mean(Pooling):
    """Mean: every slot has the same weight.

    c = 1/S sum_i h_i
    Source: Iyyer, Manjunatha, Boyd-Graber, Daume 2015, section 2.
    Settings of model.attention have no effect.
    """

    attends = False

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        mask = memory.mask.unsqueeze(1).float()  # (B, 1, S)
        weights = mask / mask.sum(2, keepdim=True)
        return AttentionOutput(weights.to(memory.values.dtype) @ memory.values, weights)
