"""The interface of poolings, and the final state of a memory.

pooled = Pooling(h_1 .. h_S)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from models.base.types import AttentionOutput, Memory
from models.config import ModelConfig


class Pooling(nn.Module):
    """A memory (B, S, V) to one vector (B, 1, P), with the weight of each slot (B, 1, S)."""

    attends = True  # False if the weights do not come from an attention
    pooled_size: int  # P

    def __init__(self, value_size: int, config: ModelConfig) -> None:
        super().__init__()
        self.pooled_size = value_size

    def forward(self, memory: Memory) -> AttentionOutput:
        """Return the pooled vector as the context (B, 1, P)."""
        raise NotImplementedError

    def read_values(self, memory: Memory) -> Tensor | None:
        """Return what the weights of each head multiply, (B, H, S, P); None if unknown."""
        return memory.values.unsqueeze(1)


def final_state(memory: Memory) -> Tensor:
    """Return the encoder's final state (B, V), as large as a slot.

    For a recurrent encoder these are the last states of the last layer, [->h_S; <-h_1]. For another
    encoder it is the last slot.
    """
    size = memory.values.shape[-1]
    if memory.final is not None:
        return memory.final[:, -size:]
    rows = torch.arange(memory.mask.shape[0], device=memory.mask.device)
    return memory.values[rows, memory.mask.sum(1) - 1]
