"""MobileNet-EdgeTPU: equal to its description; damaged weights are refused."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn.functional import conv2d, pad

from models.core.errors import ModelError
from models.networks.edgetpu import (
    Convolution,
    MobileNetEdgeTpu,
    stages,
)
from tests.models.networks.small import EDGETPU, TINY, quantised


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
