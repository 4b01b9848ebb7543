"""1.5-entmax: a normaliser between softmax and sparsemax.

weights_i = max(0, z_i / 2 - tau)^2,  tau such that they sum to 1      Peters et al. 2019

Exact, by sorting: of the k largest z / 2, with mean M and mean square Q,
tau(k) = M - sqrt(1 / k - (Q - M^2)); the support is the longest prefix with tau(k) <= z_(k) / 2.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.attention.sparsemax import shifted


class Entmax15(nn.Module):
    """1.5-entmax: between softmax and sparsemax; low scores have weight zero.

    weights_i = max(0, score_i / 2 - tau)^2, tau such that they sum to 1
    Source: Peters, Niculae, Martins 2019.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return Entmax15Function.apply(shifted(scores / 2, in_window)) * in_window  # type: ignore[no-untyped-call]


class Entmax15Function(torch.autograd.Function):
    """1.5-entmax over the last axis, of halved scores."""

    @staticmethod
    def forward(ctx: Any, halves: Tensor) -> Tensor:
        """Compute the weights of finite halved scores."""
        ordered = halves.sort(-1, descending=True).values
        count = torch.arange(1, halves.shape[-1] + 1, device=halves.device, dtype=halves.dtype)
        mean = ordered.cumsum(-1) / count
        spread = ordered.square().cumsum(-1) / count - mean.square()
        thresholds = mean - (1 / count - spread).clamp_min(0).sqrt()
        size = (thresholds <= ordered).sum(-1, keepdim=True).clamp_min(1)  # of the support
        roots = (halves - thresholds.gather(-1, size - 1)).clamp_min(0)
        ctx.save_for_backward(roots)
        return roots.square()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return 2 r (g - mean of g under r), with gradient g and r = sqrt(weights)."""
        (roots,) = ctx.saved_tensors
        mean = (grads[0] * roots).sum(-1, keepdim=True) / roots.sum(-1, keepdim=True)
        return 2 * roots * (grads[0] - mean)
