"""Additive attention: one hidden layer that looks at query and key together.

score(s, h) = v^T tanh(W s + U h)        Bahdanau, Cho and Bengio 2015, A.1.2
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from models.attention.base import Score
from models.config import AttentionConfig


class Additive(Score):
    """Additive (Bahdanau): a hidden layer over query and key.

    score(s, h) = v^T tanh(W s + U h)
    Source: Bahdanau, Cho, Bengio 2015, A.1.2.
    U h is computed once per source.
    """

    def __init__(self, query_size: int, key_size: int, config: AttentionConfig) -> None:
        super().__init__(query_size, key_size, config)
        size = config.size or query_size
        self.query = nn.Linear(query_size, size, bias=False)  # W
        self.key = nn.Linear(key_size, size)  # U
        self.energy = nn.Parameter(torch.empty(size).uniform_(-(size**-0.5), size**-0.5))  # v

    def prepare(self, values: Tensor) -> Tensor:
        """U h of every slot (B, S, A)."""
        return self.key(values)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Scores (B, T, S)."""
        return AdditiveEnergy.apply(self.query(query), keys, self.energy)


class AdditiveEnergy(torch.autograd.Function):
    """v^T tanh(q + k) for all pairs, without holding the (B, T, S, A) hidden layer.

    Forward goes query by query; backward computes each tanh again instead of keeping it.
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, keys: Tensor, energy: Tensor) -> Tensor:
        """Scores (B, T, S) from query (B, T, A), keys (B, S, A), energy (A,)."""
        ctx.save_for_backward(query, keys, energy)
        v = energy.to(keys.dtype)
        rows = [_hidden(query, keys, t) @ v for t in range(query.shape[1])]
        return torch.stack(rows, 1)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Gradients of query, keys and energy."""
        query, keys, energy = ctx.saved_tensors
        grad_scores = grads[0].to(keys.dtype)
        v = energy.to(keys.dtype)
        grad_query, grad_energy = torch.empty_like(query), torch.zeros_like(energy)
        grad_keys: Tensor | None = None
        for t in range(query.shape[1]):
            hidden = _hidden(query, keys, t)  # (B, S, A)
            row = grad_scores[:, t]  # (B, S)
            grad_energy += hidden.flatten(0, 1).mT @ row.flatten()
            inner = hidden.square_().neg_().add_(1).mul_(v).mul_(row.unsqueeze(-1))
            grad_query[:, t] = inner.sum(1)
            grad_keys = inner if grad_keys is None else grad_keys.add_(inner)
        return (
            grad_query,
            grad_keys if grad_keys is not None else torch.zeros_like(keys),
            grad_energy,
        )


def _hidden(query: Tensor, keys: Tensor, t: int) -> Tensor:
    """tanh(k + q_t), as 2 sigmoid(2x) - 1: PyTorch's tanh is five times slower on a CPU."""
    wide = torch.promote_types(keys.dtype, torch.float32)
    inner = keys.to(wide) + query[:, t, None].to(wide)
    return inner.mul_(2).sigmoid_().mul_(2).sub_(1).to(keys.dtype)
