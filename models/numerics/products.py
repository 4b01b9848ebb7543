"""Matrix products of training: torch's own, or oneDNN's while `onednn_products` is active.

oneDNN takes about half the time on AMD processors (see linear.py). Its sums have another
order, so a run that uses it ends with other weights; a setting chooses it. Small products, and
products of other types and devices, are torch's.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

FEWEST = 1 << 20  # multiplications from which on oneDNN is faster; measured with 1 to 320 rows


class Products:
    """Products of a linear map y = x W^T + b and of its gradients, by torch."""

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return x W^T + b: (..., O) of x (..., I), W (O, I) and b (O,)."""
        return nn.functional.linear(x, weight, bias)

    def input_gradient(self, grad: Tensor, weight: Tensor) -> Tensor:
        """Return G W: (..., I) of G (..., O) and W (O, I)."""
        return grad @ weight

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """Return G^T x: (O, I) of G (N, O) and x (N, I)."""
        return grad.mT @ x


class OnednnProducts(Products):
    """Products of a linear map and of its gradients, by oneDNN."""

    def linear(self, x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return x W^T + b: (..., O) of x (..., I), W (O, I) and b (O,)."""
        if not suits(x, weight):
            return super().linear(x, weight, bias)
        if not (weight.is_contiguous() or weight.mT.is_contiguous()):
            weight = weight.contiguous()  # oneDNN takes a thousand times as long for other strides
        y: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
        return y

    def input_gradient(self, grad: Tensor, weight: Tensor) -> Tensor:
        """Return G W: (..., I) of G (..., O) and W (O, I)."""
        return self.linear(grad, weight.mT)

    def weight_gradient(self, grad: Tensor, x: Tensor) -> Tensor:
        """Return G^T x: (O, I) of G (N, O) and x (N, I)."""
        if x.shape[1] < grad.shape[1]:  # oneDNN is faster if the result has fewer rows than columns
            return self.linear(x.mT, grad.mT).mT
        return self.linear(grad.mT, x.mT)


TORCH, ONEDNN = Products(), OnednnProducts()
_active: ContextVar[Products] = ContextVar("products", default=TORCH)


@contextmanager
def onednn_products(wanted: bool = True) -> Iterator[None]:
    """Use oneDNN for the products of models that are trained, if wanted and part of torch.

    The forward pass decides: backward passes use the products of their forward pass.
    """
    token = _active.set(ONEDNN if wanted and has_onednn() else TORCH)
    try:
        yield
    finally:
        _active.reset(token)


def products() -> Products:
    """Return the products to use now."""
    return _active.get()


def has_onednn() -> bool:
    """Return True if torch contains oneDNN's linear map."""
    return torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")


def suits(x: Tensor, weight: Tensor) -> bool:
    """Return True if oneDNN can compute x W^T, and is expected to be faster."""
    return (
        x.dtype == weight.dtype == torch.float32
        and x.device.type == "cpu"
        and x.numel() * len(weight) >= FEWEST
        and not torch.is_autocast_enabled("cpu")
    )


def train_onednn(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Return x W^T + b, whose gradients are computed by oneDNN, too."""
    rows = OnednnLinear.apply(x.reshape(-1, x.shape[-1]), weight, bias)  # type: ignore[no-untyped-call]
    y: Tensor = rows.view(*x.shape[:-1], len(weight))
    return y


class OnednnLinear(torch.autograd.Function):
    """x W^T + b and its gradients by oneDNN, for rows x (N, I)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """Map (N, I) to (N, O)."""
        ctx.save_for_backward(x, weight)
        return ONEDNN.linear(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of x, W and b."""
        x, weight = ctx.saved_tensors
        grad, (of_x, of_weight, of_bias) = grads[0], ctx.needs_input_grad
        return (
            ONEDNN.input_gradient(grad, weight) if of_x else None,
            ONEDNN.weight_gradient(grad, x) if of_weight else None,
            grad.sum(0) if of_bias else None,
        )
