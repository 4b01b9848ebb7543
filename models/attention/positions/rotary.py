"""Rotation of queries and keys by angles that grow with the position."""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.positions.base import Position
from models.base.errors import ConfigurationError
from models.config import ModelConfig

BASE = 10_000.0


class Rotary(Position):
    """Rotary (RoPE): rotates queries and keys, so that a product depends on the distance.

    (R_t q)^T (R_i k) = q^T R_(i - t) k;  R_t turns features j and j + d/2 by t 10000^(-2j / d)
    Source: Su, Lu, Pan, Murtadha, Wen, Liu 2021, eq. 34; features are paired as in GPT-NeoX.
    The score must be a product of query and key: dot, scaled_dot, cosine or qk_norm.
    """

    in_attention = True
    turns = True

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        size = config.embedding // config.heads
        if size % 2:
            raise ConfigurationError(
                f"model.position=rotary with heads of {size} features", "an even number of features"
            )

    def turned(self, x: Tensor, start: int) -> Tensor:
        """Return queries or keys (B, H, T, d) of positions from `start`."""
        half = x.shape[-1] // 2
        rates = BASE ** (-torch.arange(half, device=x.device) / half)
        angles = torch.arange(start, start + x.shape[2], device=x.device)[:, None] * rates
        cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)  # (T, d / 2)
        first, second = x.chunk(2, -1)
        parts = (first * cosines - second * sines, second * cosines + first * sines)
        return torch.cat(parts, -1)
