"""Additive attention: one hidden layer over query and key together.

score(s, h) = v^T tanh(W s + U h)        Bahdanau, Cho and Bengio 2015, A.1.2
              v^T tanh(W s + U h + C c)  with coverage c, the sum of the slot's weights so far:
                                         Tu et al. 2016, section 3, with a fertility of 1
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.attention.base import History, Score
from models.config import AttentionConfig
from models.deferred import DeferredLinear
from models.linear import Linear


class Additive(Score):
    """Additive (Bahdanau): a hidden layer over query and key.

    score(s, h) = v^T tanh(W s + U h)
    Source: Bahdanau, Cho, Bengio 2015, A.1.2.
    Options: size, coverage.
    U h is computed once per source.
    """

    supports_coverage = True

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = DeferredLinear(query_size, size, bias=False)  # W
        self.key = Linear(key_size, size)  # U
        self.energy = _uniform(size)  # v
        self.needs_history = config.coverage
        self.coverage = _uniform(size, 1) if config.coverage else None  # C

    def prepare(self, values: Tensor) -> Tensor:
        """Compute U h of every slot (B, S, A)."""
        keys: Tensor = self.key(values)
        return keys

    def forward(self, query: Tensor, keys: Tensor, history: History | None = None) -> Tensor:
        """Compute scores (B, T, S)."""
        if history is None or self.coverage is None:
            scores: Tensor = AdditiveEnergy.apply(self.query(query), keys, self.energy)  # type: ignore[no-untyped-call]
            return scores
        total = history.total.unsqueeze(-1)  # (B, T, S, 1)
        scores = AdditiveEnergy.apply(self.query(query), keys, self.energy, total, self.coverage)  # type: ignore[no-untyped-call]
        return scores


class AdditiveEnergy(torch.autograd.Function):
    """v^T tanh(q + k + M f) for all pairs, without storing the (B, T, S, A) hidden layer.

    f are features of a query and a slot together. The forward pass iterates over queries; the
    backward pass computes each tanh again instead of storing it.
    """

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,
        keys: Tensor,
        energy: Tensor,
        features: Tensor | None = None,
        matrix: Tensor | None = None,
    ) -> Tensor:
        """Compute scores (B, T, S) from query (B, T, A), keys (B, S, A), energy (A,).

        features (B, T, S, F), if given, enter through matrix (A, F).
        """
        ctx.save_for_backward(query, keys, energy, features, matrix)
        v = energy.to(keys.dtype)
        rows = [_hidden(query, keys, features, matrix, t) @ v for t in range(query.shape[1])]
        return torch.stack(rows, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of query, keys, energy, features and matrix."""
        query, keys, energy, features, matrix = ctx.saved_tensors
        grad_scores = grads[0].to(keys.dtype)
        v = energy.to(keys.dtype)
        grad_query, grad_energy = torch.empty_like(query), torch.zeros_like(energy)
        grad_keys: Tensor | None = None
        grad_features = None if features is None else torch.empty_like(features)
        grad_matrix = None if matrix is None else torch.zeros_like(matrix)
        for t in range(query.shape[1]):
            hidden = _hidden(query, keys, features, matrix, t)  # (B, S, A)
            row = grad_scores[:, t]  # (B, S)
            grad_energy += hidden.flatten(0, 1).mT @ row.flatten()
            inner = hidden.square_().neg_().add_(1).mul_(v).mul_(row.unsqueeze(-1))
            grad_query[:, t] = inner.sum(1)
            if grad_features is not None and grad_matrix is not None:
                grad_features[:, t] = inner @ matrix.to(inner.dtype)
                grad_matrix += inner.flatten(0, 1).mT @ features[:, t].flatten(0, 1).to(inner.dtype)
            grad_keys = inner if grad_keys is None else grad_keys.add_(inner)
        grad_keys = torch.zeros_like(keys) if grad_keys is None else grad_keys
        return grad_query, grad_keys, grad_energy, grad_features, grad_matrix


def _uniform(*shape: int) -> nn.Parameter:
    bound = shape[0] ** -0.5
    return nn.Parameter(torch.empty(shape).uniform_(-bound, bound))


def _hidden(
    query: Tensor, keys: Tensor, features: Tensor | None, matrix: Tensor | None, t: int
) -> Tensor:
    wide = torch.promote_types(keys.dtype, torch.float32)
    inner = keys.to(wide) + query[:, t, None].to(wide)  # (B, S, A)
    if features is not None and matrix is not None:
        inner += features[:, t].to(wide) @ matrix.to(wide).mT
    # tanh as 2 sigmoid(2x) - 1, because PyTorch's tanh is five times slower on a CPU
    return inner.mul_(2).sigmoid_().mul_(2).sub_(1).to(keys.dtype)
