"""Linear maps y = x W^T + b; in inference computed by oneDNN where MKL is slower.

torch computes fp32 products with MKL, whose kernels for AMD processors do not use AVX-512. oneDNN,
which torch contains for convolutions, takes less than half the time there. Both compute in fp32 and
differ by rounding. With gradients, oneDNN is used if a setting says so (products.py); under
autocast or on another device, torch's own product is used.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path

import torch
from torch import Tensor, nn

from models.numerics.products import FEWEST, ONEDNN, has_onednn, products, suits, train_onednn

CPUINFO = Path("/proc/cpuinfo")


class Linear(nn.Linear):
    """A linear layer that uses `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., I) to (..., O)."""
        return linear(x, self.weight, self.bias)

    def last_columns(self, x: Tensor) -> Tensor:
        """Return x W'^T, without bias: W' are the last columns of W, as many as x has."""
        return linear(x, self.weight[:, -x.shape[-1] :])


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b: (..., O) of x (..., I), W (O, I) and b (O,)."""
    if torch.is_grad_enabled() and products() is ONEDNN and suits(x, weight):
        return train_onednn(x, weight, bias)
    if (
        torch.is_grad_enabled()
        or x.dtype != torch.float32
        or x.device.type != "cpu"
        or x.numel() * len(weight) < FEWEST
        or not prefers_onednn()
        or torch.is_autocast_enabled("cpu")
    ):
        return nn.functional.linear(x, weight, bias)
    y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return y


@functools.cache
def prefers_onednn() -> bool:
    """Return True on an AMD processor if torch contains oneDNN's linear map."""
    return has_onednn() and "AuthenticAMD" in _processor()


def _processor() -> str:
    """Return a description of the processor that contains its vendor."""
    try:
        with CPUINFO.open("r", encoding="utf-8", errors="replace") as file:
            return file.read(1000)
    except OSError:
        return platform.processor()
