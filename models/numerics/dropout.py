"""Dropout with cheap random numbers.

On a CPU, PyTorch samples one Bernoulli variable per element on one thread; in a small Transformer
this costs as much as the matrix products. Here one 64-bit random number serves eight elements: an
element is kept if its random byte is below a threshold, so the rate is a multiple of 1/256.

    y = x * keep / (1 - p)                   Srivastava et al. 2014
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

SMALLEST = 1 / 512  # the lowest rate that random bytes can approximate


class Dropout(nn.Module):
    """Dropout: random zeros in training, the identity in evaluation mode."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """Zero a random share of the elements and scale up the others."""
        if not self.training or self.rate == 0:
            return x
        if x.device.type != "cpu" or self.rate < SMALLEST:
            return nn.functional.dropout(x, self.rate)
        return ByteDropout.apply(x, self.rate)  # type: ignore[no-untyped-call]


class ByteDropout(torch.autograd.Function):
    """Dropout on a CPU from random bytes; the mask is stored as one byte per element."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, rate: float) -> Tensor:
        """Return x * keep / (share of kept elements)."""
        threshold = max(1, round(256 * (1 - rate)))
        words = torch.empty((x.numel() + 7) // 8, dtype=torch.int64)  # of eight random bytes
        # random_() alone leaves the sign bit 0: the explicit range fills all 64 bits
        words.random_(-(2**63), None)
        # bytes 0 and 1, because a boolean mask is several times slower to compute and multiply
        keep = words.view(torch.uint8)[: x.numel()].view(x.shape).le_(threshold - 1)
        ctx.save_for_backward(keep)
        ctx.scale = 256 / threshold
        return (x * keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return the gradient through the kept elements."""
        (keep,) = ctx.saved_tensors
        return (grads[0] * keep).mul_(ctx.scale), None
