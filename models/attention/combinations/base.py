"""Attention to several memories: the interface of a combination, and what it refuses.

The memories are one `Memory` whose slots are numbered through all of them; its `part` (B, S) is the
number of the memory that each slot belongs to. So the weights (B, T, S) of a combination are those
of one attention, and search, alignment and explanation need not know that there are several.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.attention.base import History, is_monotonic
from models.base.errors import ConfigurationError
from models.base.registry import find
from models.base.types import AttentionOutput, Memory
from models.config import AttentionConfig
from models.numerics.linear import Linear


class Combination(nn.Module):
    """Attention to K memories, whose values have one size."""

    def __init__(
        self, query_size: int, value_size: int, config: AttentionConfig, count: int
    ) -> None:
        super().__init__()
        check_combined(config)

    def prepare(self, memory: Memory) -> Any:
        """Prepare the memories, once per source.

        The result has `values` (B, ..) and `mask` (B, S).
        """
        raise NotImplementedError

    def values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        raise NotImplementedError

    def begin(self, prepared: Any) -> None:
        """Return None: no part of the attention depends on earlier steps."""

    def forward(
        self, query: Tensor, prepared: Any, history: History | None = None
    ) -> AttentionOutput:
        """Read the memories with queries (B, T, Q); the weights (B, T, S) sum to 1 over all."""
        raise NotImplementedError


class MemoryMaps(nn.Module):
    """A linear map for each memory, applied to its slots: W^(k) h_j^(k)."""

    def __init__(self, count: int, value_size: int, size: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(Linear(value_size, size, bias=False) for _ in range(count))

    def forward(self, values: Tensor, part: Tensor) -> Tensor:
        """Return the mapped values (B, S, size) of slots (B, S, V) of the memories `part`."""
        mapped = [
            each(values) * (part == number).unsqueeze(-1) for number, each in enumerate(self.maps)
        ]
        return torch.stack(mapped).sum(0)


def check_combined(config: AttentionConfig) -> None:
    """Raise ConfigurationError for parts of an attention that need the order of one memory."""
    score = find("score", config.score) if config.score else None
    needs_order = score is not None and (score.sequential or not score.uses_keys)
    order = "whose slots have no common order"
    refused = {
        "window": (config.window != "global", order, "global"),
        "read": (config.read != "soft", "of which one slot would be read alone", "soft"),
        "score": (needs_order, order, "additive"),
        "normalise": (is_monotonic(config), order, "softmax"),
        "coverage": (config.coverage, "which have no weights of earlier steps", "false"),
    }
    for name, (wrong, reason, nearest) in refused.items():
        if wrong:
            value = str(getattr(config, name)).lower()
            raise ConfigurationError(
                f"model.attention.{name}={value} with several inputs, {reason}",
                f"model.attention.{name}={nearest}",
            )
