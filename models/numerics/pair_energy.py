"""Energies of all pairs of query and slot, a few queries at a time.

    additive:      v^T tanh(q + k + M f)
    feed-forward:  v^T tanh(W tanh(q + k) + b)

A hidden layer has B * T * S * A elements. It is computed again in the backward pass instead of
being stored, in fp32 or wider.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

CHUNK_ELEMENTS = 2**18  # hidden units computed at a time: 1 MB in fp32
Compute = Callable[..., Tensor]


def additive_energy(
    query: Tensor,
    keys: Tensor,
    energy: Tensor,
    features: Tensor | None = None,
    matrix: Tensor | None = None,
) -> Tensor:
    """Return scores (B, T, S) of query (B, T, A) and keys (B, S, A); energy v (A,).

    features f (B, T, S, F), if given, enter through matrix M (A, F).
    """
    if features is None or matrix is None:
        return _in_chunks(_additive, [query], [keys, energy])
    return _in_chunks(_additive_with_features, [query, features], [keys, energy, matrix])


def feed_forward_energy(
    query: Tensor, keys: Tensor, energy: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    """Return scores (B, T, S) of query (B, T, A) and keys (B, S, A).

    energy v (A,); weight W (A, A) and bias b (A,) of the second layer.
    """
    return _in_chunks(_feed_forward, [query], [keys, energy, weight, bias])


def _additive(query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
    return _weighted_tanh(torch.add(2 * query.unsqueeze(2), keys.unsqueeze(1), alpha=2), energy)


def _additive_with_features(
    query: Tensor, features: Tensor, keys: Tensor, energy: Tensor, matrix: Tensor
) -> Tensor:
    sums = query.unsqueeze(2) + keys.unsqueeze(1) + features @ matrix.mT
    return _weighted_tanh(2 * sums, energy)


def _feed_forward(
    query: Tensor, keys: Tensor, energy: Tensor, weight: Tensor, bias: Tensor
) -> Tensor:
    doubled = torch.add(2 * query.unsqueeze(2), keys.unsqueeze(1), alpha=2)
    hidden = doubled.sigmoid() * 2 - 1  # (B, t, S, A)
    return _weighted_tanh(2 * nn.functional.linear(hidden, weight, bias), energy)


def _weighted_tanh(doubled: Tensor, energy: Tensor) -> Tensor:
    """Return v^T tanh(x) from 2x (.., A), which is overwritten, as tanh(x) = 2 sigmoid(2x) - 1.

    PyTorch's tanh takes four times as long on a CPU.
    """
    return 2 * (doubled.sigmoid_() @ energy) - energy.sum()


def _in_chunks(compute: Compute, of_queries: list[Tensor], others: list[Tensor]) -> Tensor:
    """Return the scores (B, T, S) of inputs (B, T, ..); others: keys (B, S, A) and parameters."""
    if torch.compiler.is_compiling():  # the number of elements is unknown
        return _widely(compute, [*of_queries, *others])
    size = max(1, CHUNK_ELEMENTS // max(1, others[0].numel()))  # queries of a chunk
    chunks = zip(*(part.split(size, 1) for part in of_queries), strict=True)
    return torch.cat([Recomputed.apply(compute, *chunk, *others) for chunk in chunks], 1)  # type: ignore[no-untyped-call]


class Recomputed(torch.autograd.Function):
    """A function whose backward pass computes it again, so that no inner tensor is stored."""

    @staticmethod
    def forward(ctx: Any, compute: Compute, *inputs: Tensor) -> Tensor:
        """Compute the function."""
        ctx.compute = compute
        ctx.save_for_backward(*inputs)
        return _widely(compute, inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of the inputs."""
        inputs = [x.detach().requires_grad_(x.requires_grad) for x in ctx.saved_tensors]
        with torch.enable_grad():
            found = _widely(ctx.compute, inputs)
        wanted = torch.autograd.grad(found, [x for x in inputs if x.requires_grad], grads)
        of_inputs = iter(wanted)
        return None, *(next(of_inputs) if x.requires_grad else None for x in inputs)


def _widely(compute: Compute, inputs: Sequence[Tensor]) -> Tensor:
    """Compute a function in fp32 or wider; return its result in the type of the first input."""
    given = inputs[0].dtype
    wide = torch.promote_types(given, torch.float32)
    with torch.autocast(inputs[0].device.type, enabled=False):
        return compute(*(x.to(wide) for x in inputs)).to(given)
