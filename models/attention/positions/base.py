"""The interface of positions in a Transformer, and a Transformer without them."""

from __future__ import annotations

from torch import Tensor, nn

from models.base.registry import find
from models.config import ModelConfig


class Position(nn.Module):
    """None: no positions. A decoder still sees the order, because each step sees one slot more.

    x_t = E y_t
    Source: Haviv, Ram, Press, Izsak, Levy 2022.
    """

    in_attention = False  # True: every self-attention has one; False: encoder and decoder have one
    turns = False  # True if it rotates queries and keys, whose product must then be the score

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()

    def added(self, x: Tensor, start: int) -> Tensor:
        """Return embeddings (R, T, D) of positions from `start`, with their positions."""
        return x

    def turned(self, x: Tensor, start: int) -> Tensor:
        """Return queries or keys (B, H, T, d) of positions from `start`."""
        return x

    def bias(self, query: Tensor, start: int, slots: int) -> Tensor | None:
        """Return an addition (B or 1, H, T, S) to the scores of queries (B, H, T, d); None: no."""
        return None


def position(config: ModelConfig, *, in_attention: bool) -> Position:
    """Build the configured position for a place; one without effect if it belongs elsewhere."""
    kind: type[Position] = find("position", config.position)
    return kind(config) if kind.in_attention is in_attention else Position(config)
