"""Cross-entropy with label smoothing, from features, without holding the logits.

The logits (N, Y) of a batch are the largest thing in training a small model. Here they are made a
few hundred rows at a time; loss and gradients of a slice are taken while it is in cache, so memory
holds one slice, and each logit is touched once instead of four times.

    loss = -(1 - eps) log p(y) - eps/Y sum_k log p(k)      Szegedy et al. 2016, section 7
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

SLICE_ELEMENTS = 2**22  # logits held at a time: 16 MB in fp32


class LossSum(nn.Module):
    """Summed loss of a batch, and the plain negative log-likelihood beside it."""

    def __init__(self, smoothing: float) -> None:
        super().__init__()
        self.smoothing = smoothing

    def forward(
        self, features: Tensor, target: Tensor, weight: Tensor, bias: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Smoothed loss and negative log-likelihood, both summed over N tokens, in nats.

        features (N, D), target (N,), output weight (Y, D), bias (Y,) or None.
        """
        if torch.is_autocast_enabled(features.device.type):
            features = features.to(torch.get_autocast_dtype(features.device.type))
        zero = weight.new_zeros(weight.shape[0]) if bias is None else bias
        return SlicedCrossEntropy.apply(features, target, weight, zero, self.smoothing)


class SlicedCrossEntropy(torch.autograd.Function):
    """Linear layer, log-softmax and smoothed cross-entropy in one, slice by slice."""

    @staticmethod
    def forward(
        ctx: Any, features: Tensor, target: Tensor, weight: Tensor, bias: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """The two sums; gradients are computed here, while the logits are at hand."""
        wanted = any(ctx.needs_input_grad)
        matrix = weight.to(features.dtype)
        grads = Gradients.like(features, weight) if wanted else None
        loss = features.new_zeros((), dtype=torch.float32)
        nll = loss.clone()
        rows = max(1, SLICE_ELEMENTS // weight.shape[0])
        for start in range(0, features.shape[0], rows):
            part, labels = features[start : start + rows], target[start : start + rows]
            logits = linear(part, matrix).float().add_(bias)  # (n, Y)
            picked = logits.gather(1, labels[:, None]).squeeze(1)
            mean, peak = logits.mean(1), logits.amax(1)
            probabilities = logits.softmax(1)
            log_total = peak - probabilities.amax(1).log()  # the likeliest: exp(peak) / total
            nll += (log_total - picked).sum()
            loss += (log_total - (1 - smoothing) * picked - smoothing * mean).sum()
            if grads is not None:
                probabilities.sub_(smoothing / weight.shape[0])
                probabilities[torch.arange(len(labels)), labels] -= 1 - smoothing
                grads.add(start, part, probabilities, matrix)
        ctx.grads = grads
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, Tensor, Tensor, None]:
        """The stored gradients times that of the loss."""
        features, weight, bias = ctx.grads.features, ctx.grads.weight, ctx.grads.bias
        return features * grads[0], None, weight * grads[0], bias * grads[0], None


class Gradients:
    """Gradients of one call, gathered slice by slice."""

    def __init__(self, features: Tensor, weight: Tensor, bias: Tensor) -> None:
        self.features, self.weight, self.bias = features, weight, bias

    @classmethod
    def like(cls, features: Tensor, weight: Tensor) -> Gradients:
        """Room for the gradients of features (N, D) and weight (Y, D)."""
        return cls(
            torch.empty_like(features),
            torch.zeros_like(weight, dtype=torch.float32),
            weight.new_zeros(weight.shape[0], dtype=torch.float32),
        )

    def add(self, start: int, part: Tensor, grad_logits: Tensor, matrix: Tensor) -> None:
        """Take in the gradient (n, Y) of one slice's logits."""
        self.bias += grad_logits.sum(0)
        grad = grad_logits.to(part.dtype)
        self.features[start : start + len(part)] = grad @ matrix
        if part.dtype == torch.float32:
            self.weight.addmm_(grad.mT, part)
        else:
            self.weight += grad.mT @ part
