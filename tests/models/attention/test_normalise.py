"""Softmax, sparsemax and entmax15 equal their formulas and have their gradients."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch

from models.attention.normalisers import Entmax15, Sparsemax
from models.attention.softmax import masked_softmax
from tests.models.mechanisms import Vector


@pytest.mark.parametrize("slots", [3, 19, 32])
def test_softmax_and_its_gradient_equal_plain_operations_exactly(slots: int) -> None:
    torch.manual_seed(1)
    scores = (torch.randn(60, 4, slots, slots) * 3).requires_grad_()
    mask = torch.ones(slots, slots, dtype=torch.bool).tril()
    mask = mask & (torch.arange(slots) < torch.randint(0, slots + 1, (60, 1)))[:, None, None]
    given = torch.randn_like(scores)
    hidden = scores.detach().masked_fill(~mask, -1e30)
    powers = (hidden - hidden.amax(-1, keepdim=True)).exp()
    plain = powers / powers.sum(-1, keepdim=True) * mask
    scaled = plain * given
    weights = masked_softmax(scores, mask)
    assert torch.equal(weights, plain)
    (found,) = torch.autograd.grad(weights, scores, given)
    assert torch.equal(found, scaled.addcmul(plain, scaled.sum(-1, keepdim=True), value=-1))


def bisected(scores: Vector, weight: Callable[[float], float]) -> Vector:
    """weight(z - tau) with the tau at which they sum to 1, by halving an interval."""
    low, high = min(scores) - 2, max(scores)
    for _ in range(100):
        middle = (low + high) / 2
        if sum(weight(z - middle) for z in scores) > 1:
            low = middle
        else:
            high = middle
    return [weight(z - low) for z in scores]


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.0, 100.0, 1e6])
def test_sparse_normalisers_equal_bisection(scale: float) -> None:
    torch.manual_seed(1)
    scores = torch.randn(4, 3, 9, dtype=torch.float64) * scale
    scores[0, 0, :4] = scores[0, 0, 4]  # ties
    mask = torch.rand(4, 3, 9) < 0.7
    mask[..., 0] = True
    for module, halved, weight in (
        (Sparsemax(), 1.0, lambda x: max(0.0, x)),
        (Entmax15(), 0.5, lambda x: max(0.0, x) ** 2),
    ):
        weights = module(scores, mask)
        assert (weights[~mask] == 0).all()
        for b, t in itertools.product(range(4), range(3)):
            inside = (scores[b, t][mask[b, t]] * halved).tolist()
            expected = torch.tensor(bisected(inside, weight), dtype=torch.float64)
            torch.testing.assert_close(weights[b, t][mask[b, t]], expected, atol=1e-7, rtol=0)


@pytest.mark.parametrize("module", [Sparsemax(), Entmax15()])
def test_sparse_normalisers_have_the_gradient_of_finite_differences(module: Any) -> None:
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])[:, None]
    assert torch.autograd.gradcheck(lambda x: module(x, mask), [scores])
    assert ((module(scores, mask) == 0) & mask).any()  # the gradient of exact zeros is tested too
