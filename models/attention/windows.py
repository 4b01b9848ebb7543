"""Windows: which slots are in view of a query."""

from __future__ import annotations

from torch import Tensor, nn

from models.config import AttentionConfig


class Global(nn.Module):
    """Global: every real slot is in view.

    Source: Luong, Pham, Manning 2015, section 3.1.
    """

    def __init__(self, query_size: int, config: AttentionConfig) -> None:
        super().__init__()

    def forward(self, query: Tensor, mask: Tensor) -> Tensor:
        """Slots in view (B, 1, S) of queries (B, T, Q), from the memory's mask (B, S)."""
        return mask.unsqueeze(1)
