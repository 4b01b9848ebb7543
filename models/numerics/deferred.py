"""Deferred weight gradients: a linear map applied at every step, its gradient summed at the end.

dL/dW = sum_t g_t x_t^T = G^T X    with the inputs and gradients of all steps as rows of X and G

Autograd alone allocates and adds a matrix of W's size at every step. Here the sum is one matrix
product at the end of the backward pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from models.numerics.linear import Linear
from models.numerics.products import products

Recorded = list[tuple[Tensor, Tensor]]  # inputs (R, I) and output gradients (R, O), one per step


class DeferredLinear(Linear):
    """Linear map of a recurrence; inside `deferred_gradients`, its weight gradient is deferred."""

    deferred: DeferredGradient | None = None

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., I) to (..., O)."""
        return super().forward(x) if self.deferred is None else self.deferred(x)


@contextmanager
def deferred_gradients(module: nn.Module) -> Iterator[None]:
    """Defer the weight gradients of all DeferredLinear layers of a module.

    All steps computed inside one `with` block contribute to one matrix product per layer.
    """
    layers = [layer for layer in module.modules() if isinstance(layer, DeferredLinear)]
    if not torch.is_grad_enabled():
        layers = []
    try:
        for layer in layers:
            layer.deferred = DeferredGradient(layer) if layer.weight.requires_grad else None
        yield
    finally:
        for layer in layers:
            layer.deferred = None


class DeferredGradient:
    """All steps of one linear map."""

    def __init__(self, layer: nn.Linear) -> None:
        kind, recorded = layer.weight.device.type, Recorded()
        autocast = torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind) if autocast else layer.weight.dtype
        self.weight = layer.weight.detach().to(dtype)
        self.bias = None if layer.bias is None else layer.bias.detach().to(dtype)
        self.recorded, self.task = recorded, -1  # steps, and the backward pass that recorded them
        self.products = products()
        self.anchor = Anchor.apply(layer.weight, layer.bias, recorded)  # type: ignore[no-untyped-call]

    def __call__(self, x: Tensor) -> Tensor:
        """Map one step's (..., I) to (..., O)."""
        y: Tensor = StepFunction.apply(x.to(self.weight.dtype), self.anchor, self)  # type: ignore[no-untyped-call]
        return y


class StepFunction(torch.autograd.Function):
    """One step, x W^T + b; records what `Anchor` needs for the gradients of W and b."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, anchor: Tensor, deferred: DeferredGradient) -> Tensor:
        """Map (..., I) to (..., O)."""
        ctx.save_for_backward(x)
        ctx.deferred = deferred
        return deferred.products.linear(x, deferred.weight, deferred.bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        """Return the gradient of x; record x and the gradient of y."""
        (x,), (grad,), deferred = ctx.saved_tensors, grads, ctx.deferred
        task = torch._C._current_graph_task_id()
        if deferred.task != task:  # an earlier pass may have needed no weight gradient
            deferred.recorded.clear()
            deferred.task = task
        deferred.recorded.append((x.detach().flatten(0, -2), grad.flatten(0, -2)))
        return deferred.products.input_gradient(grad, deferred.weight), grad.new_zeros(()), None


class Anchor(torch.autograd.Function):
    """Anchor scalar: its backward pass runs after that of every step."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, recorded: Recorded) -> Tensor:
        """Return zero; every step takes it as an input, which orders the backward passes."""
        ctx.recorded, ctx.dtype, ctx.biased = recorded, weight.dtype, bias is not None
        ctx.products = products()
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None]:
        """Return the gradients of weight (O, I) and bias (O,), summed over the recorded steps."""
        x, grad = (torch.cat(parts) for parts in zip(*ctx.recorded, strict=True))
        ctx.recorded.clear()  # the autograd graph may be retained and run backward again
        bias = grad.sum(0, dtype=ctx.dtype) if ctx.biased else None
        return ctx.products.weight_gradient(grad, x).to(ctx.dtype), bias, None
