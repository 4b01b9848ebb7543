"""Softmax of masked rows: hidden slots have weight 0, and a row without slots is 0."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LOWEST = -64.0  # lowest exponent; far lower ones, as those of hidden slots, take 7 times as long


SHORT_ROWS = range(12, 32)  # lengths of rows that amax does not compute with vectors


FEWEST_ELEMENTS = 2**14  # of all rows, from which on padding pays


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Softmax over the last axis where the mask is True; exactly 0 elsewhere.

    A row without any slot is all zeros, not NaN. Computed in fp32 for scores of any type.
    """
    lowest = torch.finfo(torch.float32).min
    hidden = torch.zeros_like(mask, dtype=torch.float32).masked_fill_(~mask, lowest)
    scores = scores.float() + hidden
    if scores.device.type != "cpu":
        return scores.softmax(-1) * mask
    return RowSoftmax.apply(scores, mask)  # type: ignore[no-untyped-call]


class RowSoftmax(torch.autograd.Function):
    """Softmax on a CPU for rows of any length, times a mask.

    PyTorch's softmax is six times slower for short rows whose length is not a multiple of 16; most
    sentences are such rows. Weights below exp(-64) of the greatest are rounded up to that, which
    no sum in fp32 shows.
    """

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor) -> Tensor:
        """Return exp(score) / sum of exp(scores), with the row's highest score subtracted first."""
        powers = (scores - row_maxima(scores)).clamp_min_(LOWEST).exp_()
        weights = powers.div_(powers.sum(-1, keepdim=True)).mul_(mask)
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """Return weights * (gradient - its mean under the weights)."""
        (weights,) = ctx.saved_tensors
        scaled = weights * grads[0]
        return scaled.addcmul_(weights, scaled.sum(-1, keepdim=True), value=-1), None


def row_maxima(scores: Tensor) -> Tensor:
    """Return the maximum of each row (..., S), (..., 1)."""
    sizes_known = not torch.compiler.is_compiling()
    if sizes_known and scores.shape[-1] in SHORT_ROWS and scores.numel() >= FEWEST_ELEMENTS:
        padding = (0, SHORT_ROWS.stop - scores.shape[-1])
        scores = nn.functional.pad(scores, padding, value=-torch.inf)
    return scores.amax(-1, keepdim=True)
