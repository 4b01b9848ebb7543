"""Energy of the additive scores: v^T tanh(q + k + M f) for all pairs of query and slot.

The hidden layer (B, T, S, A) is never stored. It is computed block by block, each small enough for
the processor's cache, and computed again in the backward pass. With s = sigmoid(2 x):

    tanh(x) = 2 s - 1        d tanh(x) / dx = 4 (s - s^2)

so that v, the factors and the sums are applied once, outside of the loop over elements. Without f,

    s = 1 / (1 + exp(-2 q) exp(-2 k))

needs exponentials of queries and keys only, not of their pairs. In inference, keys whose
exponential fp32 cannot represent are clamped, because tanh(q + k) is +-1 before and after.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

BLOCK_ELEMENTS = 2**18  # hidden units computed at a time: 1 MB in fp32
LARGEST = 20.0  # |q| and |k| up to which the product of the exponentials stays in fp32's range
REPRESENTABLE = 43.0  # |q| and |k| up to which each exponential does; the product may be 0 or inf
CLAMPABLE = REPRESENTABLE - 9.0  # |q| up to which larger |k| may be clamped: 1 - tanh(9) is 3e-8


class AdditiveEnergy(torch.autograd.Function):
    """v^T tanh(q + k + M f); f are features of a query and a slot together."""

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
        if query.shape[1] == 1:
            return (_hidden(query, keys, features, matrix) @ energy.to(keys.dtype)).unsqueeze(1)
        with torch.autocast(keys.device.type, enabled=False):
            blocks = ctx.blocks = _Blocks(query, keys, energy, features, matrix)
            return blocks.scores()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of query, keys, energy, features and matrix."""
        if ctx.saved_tensors[0].shape[1] == 1:
            return _gradients_of_a_step(grads[0], *ctx.saved_tensors)
        with torch.autocast(grads[0].device.type, enabled=False):
            blocks: _Blocks = ctx.blocks
            return blocks.gradients(grads[0])


class _Blocks:
    """Energies of several queries per sentence and their gradients, computed in fp32 or wider."""

    def __init__(
        self,
        query: Tensor,
        keys: Tensor,
        energy: Tensor,
        features: Tensor | None,
        matrix: Tensor | None,
    ) -> None:
        self.given = query, keys, energy, features, matrix
        self.wide = torch.promote_types(keys.dtype, torch.float32)
        self.query, self.keys, self.energy = query.to(self.wide), keys, energy.to(self.wide)
        self.features = None if features is None else features.to(self.wide)
        self.matrix = None if matrix is None else matrix.to(self.wide)
        self.factorises = features is None and _can_factorise(query, keys)
        if self.factorises:
            self.query, self.keys = (exponential(part.to(self.wide)) for part in (query, keys))

    def blocks(self, group: slice) -> Iterator[Tensor]:
        """Yield s (b, S, A) of each query of a group; the next one may overwrite it."""
        keys, one = self.keys[group].to(self.wide), self.energy.new_ones(())
        queries = self.query[group].unsqueeze(2).unbind(1)  # T times (b, 1, A)
        if self.factorises:
            buffer = torch.empty_like(keys)
            for query in queries:  # one buffer stays in the cache
                yield torch.addcmul(one, query, keys, out=buffer).reciprocal_()
        elif self.features is None or self.matrix is None:
            yield from ((query + keys).mul_(2).sigmoid_() for query in queries)
        else:
            for query, features in zip(queries, self.features[group].unbind(1), strict=True):
                inner = query + keys + features @ self.matrix.mT
                yield inner.mul_(2).sigmoid_()

    def scores(self) -> Tensor:
        """Compute the scores (B, T, S)."""
        energy = self.energy
        parts = [
            torch.stack([s @ energy for s in self.blocks(group)], 1)
            for group in sentence_groups(self.keys)
        ]
        return torch.cat(parts).mul_(2).sub_(energy.sum()).to(self.given[1].dtype)

    def gradients(self, grad_scores: Tensor) -> tuple[Tensor | None, ...]:
        """Return the gradients of all inputs from that of the scores (B, T, S)."""
        grad_scores, size = grad_scores.to(self.wide), len(self.energy)
        query, energy = torch.empty_like(self.query), torch.zeros_like(self.energy)
        keys = torch.zeros_like(self.keys, dtype=self.wide)
        features = None if self.features is None else torch.empty_like(self.features)
        matrix = None if self.matrix is None else torch.zeros_like(self.matrix)
        weighted = 0 if self.matrix is None else 4 * self.energy.unsqueeze(1) * self.matrix
        for group in sentence_groups(self.keys):
            grads = grad_scores[group].transpose(0, 1).contiguous().unbind()  # T times (b, S)
            queries, of_keys = query[group].unsqueeze(2).unbind(1), keys[group]
            for t, (s, grad) in enumerate(zip(self.blocks(group), grads, strict=True)):
                energy += s.view(-1, size).mT @ grad.view(-1)
                slope = s.addcmul_(s, s, value=-1)  # a quarter of the slope of tanh
                queries[t].copy_(torch.bmm(grad.unsqueeze(1), slope))
                of_keys.addcmul_(slope, grad.unsqueeze(2))
                if features is not None and self.features is not None and matrix is not None:
                    slope.mul_(grad.unsqueeze(2))
                    features[group, t] = slope @ weighted
                    matrix += slope.flatten(0, 1).mT @ self.features[group, t].flatten(0, 1)
        slopes = 4 * self.energy
        return self._in_given_types(
            query * slopes,
            keys * slopes,
            2 * energy - grad_scores.sum(),
            features,
            None if matrix is None else slopes.unsqueeze(1) * matrix,
        )

    def _in_given_types(self, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        pairs = zip(gradients, self.given, strict=True)
        return tuple(
            None if grad is None or given is None else grad.to(given.dtype) for grad, given in pairs
        )


def sentence_groups(keys: Tensor) -> Iterator[slice]:
    """Yield groups of sentences whose hidden units for one query fit a block; keys (B, S, A)."""
    if torch.compiler.is_compiling():  # sizes are unknown
        yield slice(None)
        return
    sentences = max(1, BLOCK_ELEMENTS // max(1, keys[0].numel()))
    for start in range(0, len(keys), sentences):
        yield slice(start, start + sentences)


def _can_factorise(query: Tensor, keys: Tensor) -> bool:
    """Return True if the product of exponentials is exact enough.

    It is False outside the processor, where the host would have to wait to learn the largest
    element, and in a traced graph, which does not know it. Without gradients, the keys may be of
    any size: above REPRESENTABLE, tanh(q + k) is +-1 with every query of at most CLAMPABLE.
    """
    if keys.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    if query.requires_grad or keys.requires_grad:
        return max(map(largest, (query, keys))) <= LARGEST
    return largest(query) <= CLAMPABLE


def largest(x: Tensor) -> float:
    """Return the largest absolute value of an element."""
    return float(x.detach().abs().amax())


def exponential(x: Tensor) -> Tensor:
    """Return exp(-2 x); without gradients, x is clamped so that fp32 represents the result."""
    exponent = x * -2
    if not x.requires_grad:
        exponent.clamp_(-2 * REPRESENTABLE, 2 * REPRESENTABLE)
    return exponent.exp_()


def _gradients_of_a_step(
    grad_scores: Tensor,
    query: Tensor,
    keys: Tensor,
    energy: Tensor,
    features: Tensor | None,
    matrix: Tensor | None,
) -> tuple[Tensor | None, ...]:
    """Return the gradients for one query per sentence: a step of a recurrent decoder."""
    row, v = grad_scores[:, 0].to(keys.dtype), energy.to(keys.dtype)  # (B, S), (A,)
    hidden = _hidden(query, keys, features, matrix)  # (B, S, A)
    grad_energy = hidden.flatten(0, 1).mT @ row.flatten()
    slope = torch.sub(hidden.new_ones(()), hidden.square_(), out=hidden)
    inner = slope.mul_(v).mul_(row.unsqueeze(-1))
    grad_query = inner.sum(1, keepdim=True)
    if features is None or matrix is None:
        return grad_query, inner, grad_energy, None, None
    grad_features = (inner @ matrix.to(inner.dtype)).unsqueeze(1)
    grad_matrix = inner.flatten(0, 1).mT @ features[:, 0].flatten(0, 1).to(inner.dtype)
    return grad_query, inner, grad_energy, grad_features, grad_matrix


def _hidden(query: Tensor, keys: Tensor, features: Tensor | None, matrix: Tensor | None) -> Tensor:
    """Compute tanh(q + k + M f), (B, S, A), of one query per sentence."""
    wide = torch.promote_types(keys.dtype, torch.float32)
    if features is None or matrix is None:
        twice = torch.add(query.to(wide) * 2, keys.to(wide), alpha=2)
    else:
        twice = keys.to(wide) + query.to(wide)
        twice += features[:, 0].to(wide) @ matrix.to(wide).mT
        twice.mul_(2)
    # tanh as 2 sigmoid(2x) - 1, because PyTorch's tanh is five times slower on a CPU
    s = twice.sigmoid_()
    return torch.add(s.new_full((), -1), s, alpha=2, out=s).to(keys.dtype)
