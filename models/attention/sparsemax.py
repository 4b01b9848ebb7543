"""Sparsemax: the Euclidean projection of the scores onto the simplex.

weights_i = max(0, z_i - tau),  tau such that they sum to 1     Martins and Astudillo 2016

Exact, by sorting: the support is the longest prefix of the sorted scores with
1 + k z_(k) > sum_{j<=k} z_(j).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

OUTSIDE = -2.0  # a score this far below the largest one is never in the support


class Sparsemax(nn.Module):
    """Sparsemax: the projection onto the simplex; low scores have weight zero.

    weights_i = max(0, score_i - tau), tau such that they sum to 1
    Source: Martins, Astudillo 2016.
    """

    def forward(self, scores: Tensor, in_window: Tensor) -> Tensor:
        """Compute weights (B, T, S); exactly zero for slots outside the window."""
        return SparsemaxFunction.apply(shifted(scores, in_window)) * in_window  # type: ignore[no-untyped-call]


class SparsemaxFunction(torch.autograd.Function):
    """Sparsemax over the last axis; its Jacobian is that of a mean over the support."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Compute the weights of finite scores."""
        ordered = scores.sort(-1, descending=True).values
        sums = ordered.cumsum(-1)
        count = torch.arange(1, scores.shape[-1] + 1, device=scores.device)
        size = (1 + count * ordered > sums).sum(-1, keepdim=True).clamp_min(1)  # of the support
        threshold = (sums.gather(-1, size - 1) - 1) / size
        weights = (scores - threshold).clamp_min(0)
        ctx.save_for_backward(weights > 0)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        """Return the gradient minus its mean over the support; zero outside."""
        (support,) = ctx.saved_tensors
        mean = (grads[0] * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return (grads[0] - mean) * support


def shifted(scores: Tensor, in_window: Tensor) -> Tensor:
    """Shift scores so that the largest in the window is 0; clamp at OUTSIDE; fp32 or wider."""
    full = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    full = full.masked_fill(~in_window, torch.finfo(full.dtype).min)
    # the largest score is detached, because adding a constant to all scores changes no weight
    return (full - full.detach().amax(-1, keepdim=True)).clamp_min(OUTSIDE)
