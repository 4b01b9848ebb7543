"""Linear maps y = x W^T + b; in inference computed by oneDNN where MKL is slower.

torch computes fp32 products with MKL, whose kernels for AMD processors do not use AVX-512. oneDNN,
which torch contains for convolutions, takes less than half the time there. Both compute in fp32 and
differ by rounding. torch's own product is used with gradients, under autocast and on other devices.
"""

from __future__ import annotations

import functools
import platform
from pathlib import Path

import torch
from torch import Tensor, nn

FEWEST = 1 << 20  # multiplications from which on oneDNN is faster; measured with 1 to 320 rows
CPUINFO = Path("/proc/cpuinfo")


class Linear(nn.Linear):
    """A linear layer that uses `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., I) to (..., O)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b: (..., O) of x (..., I), W (O, I) and b (O,)."""
    if (
        torch.is_grad_enabled()
        or x.dtype != torch.float32
        or x.device.type != "cpu"
        or x.numel() * len(weight) < FEWEST
        or not prefers_onednn()
        or torch.is_autocast_enabled("cpu")
    ):
        return nn.functional.linear(x, weight, bias)
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


@functools.cache
def prefers_onednn() -> bool:
    """Return True on an AMD processor if torch contains oneDNN's linear map."""
    onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return onednn and "AuthenticAMD" in _processor()


def _processor() -> str:
    """Return a description of the processor that contains its vendor."""
    try:
        with CPUINFO.open("r", encoding="utf-8", errors="replace") as file:
            return file.read(1000)
    except OSError:
        return platform.processor()
