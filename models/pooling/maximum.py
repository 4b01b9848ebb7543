"""Largest value of each feature over all slots."""

from __future__ import annotations

import torch

from models.base.types import AttentionOutput, Memory
from models.pooling.base import Pooling


class Maximum(Pooling):
    """Maximum: each feature is taken from the slot where it is largest.

    c_v = max_i h_iv
    Source: Collobert, Weston, Bottou, Karlen, Kavukcuoglu, Kuksa 2011, section 3.2.2.
    The weight of a slot is the share of the features that are taken from it.
    Settings of model.attention have no effect.
    """

    attends = False

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, V)."""
        hidden = memory.values.masked_fill(~memory.mask.unsqueeze(-1), -torch.inf)
        largest, slots = hidden.max(1)  # (B, V)
        counts = torch.zeros(memory.mask.shape, device=slots.device)  # (B, S)
        counts.scatter_add_(1, slots, torch.ones_like(slots, dtype=counts.dtype))
        weights = counts / slots.shape[1]
        return AttentionOutput(largest.unsqueeze(1), weights.unsqueeze(1))
