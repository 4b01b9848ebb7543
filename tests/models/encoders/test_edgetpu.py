"""MobileNet-EdgeTPU: equal to its description; damaged weights are refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from torch.nn.functional import conv2d, pad

from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.networks.edgetpu import (
    Architecture,
    BlockSize,
    Convolution,
    MobileNetEdgeTpu,
    stages,
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


def evaluated(
    network: MobileNetEdgeTpu, weights: dict[str, Any], image: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Return the output (1, C, h, w) of each layer and block, padded as TensorFlow does."""
    outputs: dict[str, torch.Tensor] = {}
    x = before = image
    for name, part in network.named_modules():
        if not isinstance(part, Convolution):
            continue
        padding: list[int] = []
        for length in (x.shape[3], x.shape[2]):  # columns, then rows
            count = math.ceil(length / part.stride)
            total = max((count - 1) * part.stride + part.weight.shape[2] - length, 0)
            padding += [total // 2, math.ceil(total / 2)]
        weight, bias = (torch.from_numpy(each).double() for each in weights[name])
        y = conv2d(pad(x, padding), weight, bias, part.stride, groups=part.groups)
        x = outputs[name] = y.relu() if part.relu else y
        block, _, layer = name.rpartition(".")
        if layer == "project":
            residual = TINY.blocks[int(block.split(".")[1])].residual
            x = before = outputs[block] = x + before if residual else x
    return outputs


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


@pytest.mark.parametrize("size", [(16, 16), (17, 15)])
def test_every_grid_equals_plain_convolutions_of_the_stored_numbers(
    size: tuple[int, int], tmp_path: Path
) -> None:
    whole = MobileNetEdgeTpu(EDGETPU, TINY)
    weights, image = quantised(whole, tmp_path), torch.randn(1, 3, *size)
    expected = evaluated(whole, weights, image.double())
    assert set(expected) == set(stages(TINY))
    for grid, reference in expected.items():
        network = MobileNetEdgeTpu(dataclasses.replace(EDGETPU, grid=grid), TINY)
        network.load(str(tmp_path))
        found = network(image).detach().double()
        torch.testing.assert_close(found, reference, atol=1e-4, rtol=1e-4)


def test_weights_of_other_sizes_are_refused(tmp_path: Path) -> None:
    quantised(MobileNetEdgeTpu(EDGETPU, TINY), tmp_path)
    with pytest.raises(ModelError, match=r"without stem\.weight of shape \(5,"):
        MobileNetEdgeTpu(EDGETPU, TINY._replace(stem=5)).load(str(tmp_path))
