"""Kernels: linear maps and energies of scores."""

from __future__ import annotations

import functools
import platform
from pathlib import Path

import torch
from torch import Tensor, nn

WITHOUT_DOUBLE = {"mps"}  # types of devices that do not compute float64
MIN_MULTIPLICATIONS = 1 << 20  # oneDNN is faster from here on; measured with 1 to 320 rows
CPUINFO = Path("/proc/cpuinfo")


def normal_weights(*shape: int, deviation: float) -> nn.Parameter:
    """Return normally distributed initial weights.

    On the meta device they stay without numbers, because torch would import its compiler there.
    """
    found = torch.empty(shape)
    return nn.Parameter(found if found.is_meta else found.normal_().mul_(deviation))


class Linear(nn.Linear):
    """A linear layer that uses `linear`."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., I) to (..., O)."""
        return linear(x, self.weight, self.bias)


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Return x W^T + b: (..., O) of x (..., I), W (O, I) and b (O,).

    torch computes fp32 products with MKL, whose kernels for AMD processors do not use AVX-512.
    oneDNN, which torch contains for convolutions, takes less than half the time there. Both compute
    in fp32 and differ by rounding. torch's own product is used with gradients, under autocast and
    on other devices.
    """
    if (
        # oneDNN's operation has no gradient
        torch.is_grad_enabled()
        or x.dtype != torch.float32
        or x.device.type != "cpu"
        or x.numel() * len(weight) < MIN_MULTIPLICATIONS
        or not prefers_onednn()
        or torch.is_autocast_enabled("cpu")
    ):
        return nn.functional.linear(x, weight, bias)
    return torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")


@functools.cache
def prefers_onednn() -> bool:
    """Return True on an AMD processor if torch contains oneDNN's linear map."""
    try:
        with CPUINFO.open("r", encoding="utf-8", errors="replace") as file:
            # the first processor suffices, and a machine of many has a long file
            processor = file.read(1000)
    except OSError:
        # outside Linux, which has no /proc
        processor = platform.processor()
    onednn = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    return onednn and "AuthenticAMD" in processor


def additive_energy(
    query: Tensor,
    keys: Tensor,
    energy: Tensor,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> Tensor:
    """Return v^T tanh(q + k + M f) of query (B, T, A) and keys (B, S, A): (B, T, S); v (A,).

    features f (B, T, S, F), if given, enter through matrix M (A, F). Computed in fp32 or wider.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        doubled = _doubled(query.to(wide), keys.to(wide))
        if features is not None and matrix is not None:
            doubled = doubled + 2 * (features.to(wide) @ matrix.to(wide).mT)
        return _weighted_tanh(doubled, energy.to(wide)).to(query.dtype)


def feed_forward_energy(
    query: Tensor, keys: Tensor, energy: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """Return v^T tanh(W tanh(q + k) + b) of query (B, T, A) and keys (B, S, A): (B, T, S).

    energy v (A,); weight W (A, A) and bias b (A,) of the second layer. In fp32 or wider.
    """
    wide = torch.promote_types(query.dtype, torch.float32)
    with torch.autocast(query.device.type, enabled=False):
        hidden = _doubled(query.to(wide), keys.to(wide)).sigmoid() * 2 - 1  # (B, T, S, A)
        layer = nn.functional.linear(hidden, weight.to(wide), bias.to(wide))
        return _weighted_tanh(2 * layer, energy.to(wide)).to(query.dtype)


def _doubled(query: Tensor, keys: Tensor) -> Tensor:
    """Return 2 (q + k) of all pairs, (B, T, S, A)."""
    return torch.add(2 * query.unsqueeze(2), keys.unsqueeze(1), alpha=2)


def _weighted_tanh(doubled: Tensor, energy: Tensor) -> Tensor:
    """Return v^T tanh(x) from 2x (.., A), which is overwritten, as tanh(x) = 2 sigmoid(2x) - 1.

    PyTorch's tanh takes four times as long on a CPU.
    """
    return 2 * (doubled.sigmoid_() @ energy) - energy.sum()
