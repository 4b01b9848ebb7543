"""The gradient taken once for all steps is that of every step added up."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from models.numerics.deferred import DeferredLinear, deferred_gradients


class Chain(nn.Module):
    """A recurrence of three steps."""

    def __init__(self, *, bias: bool) -> None:
        super().__init__()
        self.map = DeferredLinear(4, 4, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.map(x).tanh()
        return x


def gradients(chain: Chain, x: Tensor, *, together: bool) -> list[Tensor]:
    x = x.clone().requires_grad_()
    if together:
        with deferred_gradients(chain):
            loss = chain(x).square().sum()
    else:
        loss = chain(x).square().sum()
    return list(torch.autograd.grad(loss, [x, *chain.parameters()]))


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(5, 4), (2, 5, 4)])
def test_the_gradients_are_those_of_the_steps_added_up(bias: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    chain, x = Chain(bias=bias).double(), torch.randn(shape, dtype=torch.float64)
    for one, other in zip(
        gradients(chain, x, together=True), gradients(chain, x, together=False), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_the_same_holds_under_autocast_as_far_as_its_precision_goes() -> None:
    torch.manual_seed(1)
    chain, x = Chain(bias=True), torch.randn(64, 4)
    with torch.autocast("cpu", torch.bfloat16):
        found = gradients(chain, x, together=True)
    for one, other in zip(found, gradients(chain, x, together=False), strict=True):
        assert one.dtype == torch.float32
        assert (one - other).norm() < 0.02 * other.norm()


def test_a_graph_can_be_gone_through_twice() -> None:
    chain, x = Chain(bias=True), torch.ones(1, 4)
    with deferred_gradients(chain):
        loss = chain(x).sum()
    first = torch.autograd.grad(loss, list(chain.parameters()), retain_graph=True)
    second = torch.autograd.grad(loss, list(chain.parameters()))
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one, other)


def test_a_pass_that_wants_no_weights_leaves_nothing_to_the_next() -> None:
    chain, x = Chain(bias=True), torch.ones(1, 4, requires_grad=True)
    with deferred_gradients(chain):
        loss = chain(x).sum()
    torch.autograd.grad(loss, [x], retain_graph=True)
    after = torch.autograd.grad(loss, list(chain.parameters()))
    alone = torch.autograd.grad(chain(x).sum(), list(chain.parameters()))
    for one, other in zip(after, alone, strict=True):
        torch.testing.assert_close(one, other)


def test_what_it_cannot_do_is_an_error_and_not_a_wrong_number() -> None:
    chain, x = Chain(bias=True), torch.ones(1, 4, requires_grad=True)
    with deferred_gradients(chain):
        loss = chain(x).sum()
    [slope] = torch.autograd.grad(loss, [x], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        slope.sum().backward()


def test_a_frozen_map_still_passes_the_gradient_on() -> None:
    chain, x = Chain(bias=True).requires_grad_(False), torch.ones(1, 4, requires_grad=True)
    with deferred_gradients(chain):
        chain(x).sum().backward()
    assert x.grad is not None
    assert x.grad.abs().sum() > 0


def test_nothing_is_left_behind() -> None:
    chain = Chain(bias=True)
    with deferred_gradients(chain):
        assert chain.map.deferred is not None
    assert chain.map.deferred is None
    with torch.no_grad(), deferred_gradients(chain):
        assert chain.map.deferred is None
