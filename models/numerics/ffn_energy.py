"""Energy of the feed-forward score for all pairs of query and slot, a few queries at a time.

    x_0 = tanh(q + k),   x_i = tanh(W_i x_{i-1} + b_i),   energy = v^T x_n

Layers are computed again in the backward pass instead of being stored, because each has
B * T * S * A elements.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from models.numerics.linear import linear

CHUNK_ELEMENTS = 2**20  # hidden units computed at a time: 4 MB in fp32


class FeedForwardEnergy(torch.autograd.Function):
    """v^T tanh(W_n .. tanh(q + k) .. + b_n), computed in the type of the keys."""

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor, *layers: Tensor) -> Tensor:
        """Compute scores (B, T, S) from query (B, T, A), keys (B, S, A), energy (A,).

        layers: W_1 (A, A), b_1 (A,), W_2 and so on.
        """
        ctx.save_for_backward(query, keys, energy, *layers)
        with torch.autocast(keys.device.type, enabled=False):
            v, maps = energy.to(keys.dtype), [layer.to(keys.dtype) for layer in layers]
            parts = query.to(keys.dtype).split(_queries_at_once(query, keys), 1)
            return torch.cat([_activations(part, keys, maps)[-1] @ v for part in parts], 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, ...]:
        """Return the gradients of query, keys, energy and layers."""
        query, keys, energy, *layers = ctx.saved_tensors
        with torch.autocast(keys.device.type, enabled=False), torch.no_grad():
            maps = [layer.to(keys.dtype) for layer in layers]
            total = _Gradients(keys, energy.to(keys.dtype), maps)
            size = _queries_at_once(query, keys)
            parts = query.to(keys.dtype).split(size, 1), grads[0].to(keys.dtype).split(size, 1)
            of_query = [total.add(part, grad) for part, grad in zip(*parts, strict=True)]
        found = [torch.cat(of_query, 1), total.keys, total.energy, *total.maps]
        return tuple(g.to(x.dtype) for g, x in zip(found, ctx.saved_tensors, strict=True))


class _Gradients:
    """Gradients of keys, energy and layers, summed over parts of the queries in fp32 or wider."""

    def __init__(self, keys: Tensor, energy: Tensor, maps: list[Tensor]) -> None:
        self.given, self.v, self.layers = keys, energy, maps
        wide = torch.promote_types(keys.dtype, torch.float32)
        self.keys, self.energy, *self.maps = (
            torch.zeros_like(part, dtype=wide) for part in (keys, energy, *maps)
        )
        self.transposed = [weight.mT.contiguous() for weight in maps[::2]]

    def add(self, query: Tensor, grad: Tensor) -> Tensor:
        """Add the gradients of some queries (B, t, A); return theirs. grad (B, t, S)."""
        *lower, top = _activations(query, self.given, self.layers)  # (B, t, S, A) each
        size = top.shape[-1]
        self.energy += top.view(-1, size).mT @ grad.flatten()
        inner = _slope_(top).mul_(self.v).mul_(grad.unsqueeze(-1))
        for number in reversed(range(len(lower))):
            below, rows = lower[number], inner.view(-1, size)
            self.maps[2 * number] += linear(rows.mT, below.view(-1, size).mT)
            self.maps[2 * number + 1] += rows.sum(0)
            inner = linear(inner, self.transposed[number]).mul_(_slope_(below))
        self.keys += inner.sum(1)
        return inner.sum(2)


def _queries_at_once(query: Tensor, keys: Tensor) -> int:
    if torch.compiler.is_compiling():  # the number of elements is unknown
        return query.shape[1]
    return max(1, CHUNK_ELEMENTS // max(1, keys.numel()))


def _activations(query: Tensor, keys: Tensor, maps: list[Tensor]) -> list[Tensor]:
    """Compute x_0 to x_n, (B, t, S, A) each."""
    found = [_tanh_(query.unsqueeze(2) + keys.unsqueeze(1))]
    for weight, bias in zip(maps[::2], maps[1::2], strict=True):
        found.append(_tanh_(linear(found[-1], weight, bias)))
    return found


def _tanh_(x: Tensor) -> Tensor:
    """Return tanh(x) as 2 sigmoid(2x) - 1; PyTorch's tanh is five times slower on a CPU."""
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    return wide.mul_(2).sigmoid_().mul_(2).sub_(1).to(x.dtype)


def _slope_(tanh: Tensor) -> Tensor:
    """Turn tanh(x) into its derivative 1 - tanh(x)^2, in place."""
    return tanh.square_().neg_().add_(1)
