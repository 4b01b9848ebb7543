"""Logarithm of a sum of exponentials, by powers of two on a processor.

    ln sum_i exp(x_i) = ln 2 (log2 sum_i 2^(x_i / ln 2 - m) + m),   m = max_i x_i / ln 2

PyTorch's exp2 takes a quarter of the time of its exp, and the sum of a few rows is computed while
they are in the processor's cache.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

SLICE_ELEMENTS = 2**18  # powers computed at a time: 1 MB in fp32
BITS = 1 / math.log(2)  # of one nat


def log_sum_exp(logits: Tensor, peaks: Tensor) -> Tensor:
    """Return the logarithms (R,) of the sums of exp over rows (R, Y); for inference.

    peaks (R,): the greatest value of each row, near which the powers are computed.
    """
    plain = logits.device.type == "cpu" and logits.dtype == torch.float32
    if not plain or torch.is_grad_enabled() or torch.compiler.is_compiling():
        return logits.logsumexp(-1)
    shifts = peaks[:, None] * -BITS  # (R, 1), -m
    rows = max(1, SLICE_ELEMENTS // logits.shape[1])
    totals = [
        torch.add(shift, part, alpha=BITS).exp2_().sum(-1)
        for part, shift in zip(logits.split(rows), shifts.split(rows), strict=True)
    ]
    return torch.cat(totals).log2_().sub_(shifts[:, 0]).div_(BITS)
