"""A tiny MobileNet-EdgeTPU and its published weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy

from models.core.config import ImageConfig
from models.networks.edgetpu import (
    Architecture,
    BlockSize,
    Convolution,
    MobileNetEdgeTpu,
)

TINY = Architecture(
    stem=4,
    blocks=(
        BlockSize(3),
        BlockSize(4, 6, stride=2, fused=True),
        BlockSize(4, 5, fused=True, residual=True),
        BlockSize(4, 6, kernel=5, stride=2),
        BlockSize(4, 8, residual=True),
        BlockSize(4, 8, residual=True),
    ),
    head=7,
)
EDGETPU = ImageConfig(encoder="mobilenet-edgetpu", weights="none")


def quantised(network: MobileNetEdgeTpu, folder: Path) -> dict[str, Any]:
    """Write random 8-bit weights into a folder; return them as numbers."""
    random = numpy.random.default_rng(1)
    stored: dict[str, Any] = {}
    weights: dict[str, Any] = {}
    for name, part in network.named_modules():
        if isinstance(part, Convolution):
            q = random.integers(0, 256, part.weight.shape, numpy.uint8)
            scale = numpy.array([random.uniform(0.002, 0.004)], numpy.float32)
            zero = numpy.array([random.integers(100, 150)], numpy.int32)
            bias = random.normal(size=len(q)).astype(numpy.float32)
            parts = {"weight_q": q, "scale": scale, "zero": zero, "bias": bias}
            stored |= {f"{name}.{key}": value for key, value in parts.items()}
            weights[name] = (q.astype(numpy.float64) - zero[0]) * scale[0], bias
    numpy.savez(folder / "weights.npz", **stored)
    return weights
