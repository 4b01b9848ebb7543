"""R-Drop: two forward passes with different dropout should give the same distribution.

    L = 1/2 (-log p_1(y) - log p_2(y)) + alpha/2 (KL(p_1 || p_2) + KL(p_2 || p_1)) / 2
                                                                    Wu et al. 2021, eq. 3, halved

Halved, so that the loss is comparable with that of one pass. The logits (n, Y) of a slice of
tokens are computed again in the backward pass instead of being stored.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import linear
from torch.utils.checkpoint import checkpoint

from models.losses.losses import SLICE_ELEMENTS


def divergence(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return (KL(p_1 || p_2) + KL(p_2 || p_1)) / 2, summed over N tokens, in nats.

    first, second (N, D): features of two passes; output weight (Y, D) and bias (Y,).
    """
    rows = max(1, SLICE_ELEMENTS // len(weight))
    total = first.new_zeros((), dtype=torch.float32)
    for start in range(0, len(first), rows):
        parts = first[start : start + rows], second[start : start + rows]
        total = total + checkpoint(
            _slice, *parts, weight, bias, use_reentrant=False, preserve_rng_state=False
        )
    return total


def _slice(first: Tensor, second: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Return the divergence of a few tokens.

    sum p_1 (log p_1 - log p_2) + sum p_2 (log p_2 - log p_1) = sum (p_1 - p_2)(log p_1 - log p_2)
    """
    logits = (linear(part, weight, bias).float() for part in (first, second))  # (n, Y)
    one, two = (part.log_softmax(-1) for part in logits)
    return ((one.exp() - two.exp()) * (one - two)).sum() / 2
