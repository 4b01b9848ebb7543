"""Packed weights: linear maps of a search in the memory layout of oneDNN.

oneDNN (see linear.py) computes without converting the weights at each step if they are
packed once: up to 1.7 times as fast. Sums are those of fp32, in another order. Each search, or
stream of searches, packs them anew, because weights change between searches during training.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn

from models.numerics.linear import prefers_onednn
from models.numerics.products import FEWEST
from models.numerics.token_map import TokenMap, TokenTable


class PackedMap:
    """Linear map x W^T + b; the weights are packed when they are first needed."""

    def __init__(self, weight: Tensor, bias: Tensor | None) -> None:
        self.weight, self.bias = weight, bias
        self.fewest = -(-FEWEST // len(weight))  # elements of x from which on oneDNN is faster
        self.packed: Tensor | None = None
        self.last: PackedMap | None = None

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

    def last_columns(self, x: Tensor) -> Tensor:
        """Return x W'^T, without bias: W' are the last columns of W, as many as x has."""
        if self.last is None:
            self.last = PackedMap(self.weight[:, -x.shape[-1] :].contiguous(), None)
        return self.last(x)


class PackedWeights:
    """Packed maps of some modules, made once for all batches of a stream."""

    def __init__(self, *modules: nn.Module) -> None:
        self.modules = modules
        self.maps: dict[nn.Module, PackedMap] = {}
        self.tables: dict[nn.Module, TokenTable] = {}

    @contextmanager
    def used(self) -> Iterator[None]:
        """Compute all linear maps of the modules with packed weights while the block runs.

        The weights must not change until the last block has ended. Does nothing where gradients are
        needed, outside the processor, and for types other than fp32. Threads may share a module:
        the first one that leaves its block ends the packing for all, which changes the speed only.
        """
        layers = [one for module in self.modules for one in module.modules() if can_pack(one)]
        try:
            for layer in layers:
                packed = self.maps.get(layer)
                if packed is None:
                    packed = self.maps[layer] = PackedMap(layer.weight, layer.bias)  # type: ignore[arg-type]
                layer.__dict__.update(forward=packed, last_columns=packed.last_columns)
                if isinstance(layer, TokenMap):
                    layer.__dict__["table"] = self._table(layer)
            yield
        finally:
            for layer in layers:
                for name in ("forward", "last_columns", "table"):
                    layer.__dict__.pop(name, None)

    def _table(self, layer: TokenMap) -> TokenTable:
        if layer not in self.tables:
            self.tables[layer] = TokenTable(layer)
        return self.tables[layer]


def packed_weights(*modules: nn.Module) -> AbstractContextManager[None]:
    """Compute with packed weights while one block runs; see `PackedWeights.used`."""
    return PackedWeights(*modules).used()


def can_pack(layer: nn.Module) -> bool:
    """Return True if a module is a linear map that oneDNN can compute here."""
    if not getattr(layer, "is_linear_map", isinstance(layer, nn.Linear)):
        return False
    weight = layer.weight
    assert isinstance(weight, Tensor)
    fp32 = weight.device.type == "cpu" and weight.dtype == torch.float32
    plain = not (torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"))
    return fp32 and plain and not weight.is_inference() and prefers_onednn()
