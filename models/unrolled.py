"""Linear maps of a recurrence: applied step by step, their gradient taken for all steps at once.

dL/dW = sum_t g_t x_t^T = G^T X    with the steps' inputs and gradients as rows of X and G

Autograd alone makes and adds a matrix as large as W at every step; here it is one product at the
end of the backward pass, which is the same sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear

Seen = list[tuple[Tensor, Tensor]]  # inputs (R, I) and gradients (R, O) of steps


class StepLinear(nn.Linear):
    """A linear map that a recurrence applies at every step; inside `unrolled`, by `Steps`."""

    steps: Steps | None = None

    def forward(self, x: Tensor) -> Tensor:
        """(..., I) to (..., O)."""
        return super().forward(x) if self.steps is None else self.steps(x)


@contextmanager
def unrolled(module: nn.Module) -> Iterator[None]:
    """Take the gradients of the module's StepLinear once for all that is computed inside."""
    layers = [layer for layer in module.modules() if isinstance(layer, StepLinear)]
    if not torch.is_grad_enabled():
        layers = []
    try:
        for layer in layers:
            layer.steps = Steps(layer) if layer.weight.requires_grad else None
        yield
    finally:
        for layer in layers:
            layer.steps = None


class Steps:
    """The steps of one linear map."""

    def __init__(self, layer: nn.Linear) -> None:
        kind, seen = layer.weight.device.type, Seen()
        autocast = torch.is_autocast_enabled(kind)
        dtype = torch.get_autocast_dtype(kind) if autocast else layer.weight.dtype
        self.weight = layer.weight.detach().to(dtype)
        self.bias = None if layer.bias is None else layer.bias.detach().to(dtype)
        self.seen, self.task = seen, -1  # the backward pass that they were seen in
        self.whole = Whole.apply(layer.weight, layer.bias, seen)

    def __call__(self, x: Tensor) -> Tensor:
        """One step: (..., I) to (..., O)."""
        y: Tensor = Step.apply(x.to(self.weight.dtype), self.whole, self)
        return y


class Step(torch.autograd.Function):
    """x W^T + b, leaving the gradient of W and b to `Whole`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, whole: Tensor, steps: Steps) -> Tensor:
        """(..., I) to (..., O)."""
        ctx.save_for_backward(x)
        ctx.steps = steps
        return linear(x, steps.weight, steps.bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:
        """The gradient of x; that of y is kept."""
        (x,), (grad,), steps = ctx.saved_tensors, grads, ctx.steps
        task = torch._C._current_graph_task_id()
        if steps.task != task:  # an earlier pass may have asked for no weight's gradient
            steps.seen.clear()
            steps.task = task
        steps.seen.append((x.detach().flatten(0, -2), grad.flatten(0, -2)))
        return grad @ steps.weight, grad.new_zeros(()), None


class Whole(torch.autograd.Function):
    """A number that every step depends on, so that its backward comes after all of theirs."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, bias: Tensor | None, seen: Seen) -> Tensor:
        """Nothing yet."""
        ctx.seen, ctx.dtype, ctx.biased = seen, weight.dtype, bias is not None
        return weight.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor | None, None]:
        """Gradients of weight (O, I) and bias (O,)."""
        x, grad = (torch.cat(parts) for parts in zip(*ctx.seen, strict=True))
        ctx.seen.clear()  # the graph may be kept and gone through again
        bias = grad.sum(0, dtype=ctx.dtype) if ctx.biased else None
        return (grad.mT @ x).to(ctx.dtype), bias, None
