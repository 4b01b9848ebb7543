"""Weights in fewer bits: int8 with one scale per row.

    w_ij ~ s_i q_ij,    q_ij = round(w_ij / s_i) in -127 .. 127,    s_i = max_j |w_ij| / 127

s_i is stored as bfloat16, which has 8 significant bits: the largest q of a row is then 127, and
127 s_i is exact in float32. Quantising restored weights therefore gives the same q and s again.
Vectors, and matrices of short rows, are stored in fp32: they are small, and a scale saves nothing.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.storage.settings import WeightPrecision

SCALE = ".scale"  # NAME is int8, NAME.scale its scale
LARGEST = 127
SHORTEST_ROW = 8  # numbers


def stored_as(precision: WeightPrecision, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors that store some weights in a precision; see `restored`."""
    if precision == "fp32":
        return weights
    found: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if _has_long_rows(tensor):
            found[name], found[name + SCALE] = quantised(tensor)
        else:
            found[name] = tensor
    return found


def restored(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the fp32 weights that `stored_as` stored."""
    scales = {name + SCALE for name, tensor in tensors.items() if tensor.dtype == torch.int8}
    found: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        if tensor.dtype == torch.int8:
            scale = _scale(name, tensor, tensors).float()
            found[name] = tensor.float() * scale.view(-1, *[1] * (tensor.dim() - 1))
        elif name not in scales:
            found[name] = tensor
    return found


def quantised(weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return q (N, ...) and s (N,) of weights (N, ...)."""
    rows = weights.detach().float().flatten(1)
    scale = (rows.abs().amax(1) / LARGEST).to(torch.bfloat16)
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    q = (rows / scale.float()[:, None]).round().clamp(-LARGEST, LARGEST)
    return q.to(torch.int8).view(weights.shape), scale


def _has_long_rows(tensor: Tensor) -> bool:
    is_matrix = tensor.is_floating_point() and tensor.dim() > 1 and len(tensor) > 0
    return is_matrix and tensor[0].numel() >= SHORTEST_ROW


def _scale(name: str, tensor: Tensor, tensors: dict[str, Tensor]) -> Tensor:
    scale = tensors.get(name + SCALE)
    if tensor.dim() == 0 or scale is None or scale.shape != tensor.shape[:1]:
        raise ValueError(f"{name} is int8 without a scale per row")
    return scale
