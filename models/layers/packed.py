"""Packed weights: linear maps of a search in the memory layout of oneDNN.

oneDNN (see linear.py) computes without converting the weights at each step if they are
packed once. Sums are those of fp32, in another order. Each search packs them anew, because weights
change between searches during training.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from models.numerics.linear import FEWEST, prefers_onednn


class PackedMap:
    """Linear map x W^T + b; the weights are packed when they are first needed."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias
        self.fewest = -(-FEWEST // len(weight))  # elements of x from which on oneDNN is faster
        self.packed: Tensor | None = None

    def __call__(self, x: Tensor) -> Tensor:
        """Map (.., I) to (.., O)."""
        if x.numel() < self.fewest:
            return nn.functional.linear(x, self.weight, self.bias)
        if self.packed is None:
            self.packed = torch.ops.mkldnn._reorder_linear_weight(self.weight)
        mapped: Tensor = torch.ops.mkldnn._linear_pointwise(
            x, self.packed, self.bias, "none", [], ""
        )
        return mapped


@contextmanager
def packed_weights(*modules: nn.Module) -> Iterator[None]:
    """Compute all linear maps of some modules with packed weights while the block runs.

    The weights must not change meanwhile. Does nothing where gradients are needed, outside the
    processor, and for types other than fp32. Threads may share a module: the first one that leaves
    its block ends the packing for all, which changes the speed only.
    """
    layers = [one for module in modules for one in module.modules() if can_pack(one)]
    try:
        for layer in layers:
            layer.__dict__["forward"] = PackedMap(layer.weight, layer.bias)  # type: ignore[arg-type]
        yield
    finally:
        for layer in layers:
            layer.__dict__.pop("forward", None)


def can_pack(layer: nn.Module) -> bool:
    """Return True if a module is a linear map that oneDNN can compute here."""
    if not getattr(layer, "is_linear_map", isinstance(layer, nn.Linear)):
        return False
    weight = layer.weight
    assert isinstance(weight, Tensor)
    fp32 = weight.device.type == "cpu" and weight.dtype == torch.float32
    plain = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
    return fp32 and plain and not weight.is_inference() and prefers_onednn()
