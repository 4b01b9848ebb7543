"""Products of training by oneDNN: equal to torch's within rounding, and only where chosen."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from models.losses.losses import LossSum
from models.numerics import products as library
from models.numerics.deferred import DeferredLinear, deferred_gradients
from models.numerics.linear import Linear
from models.numerics.products import ONEDNN, TORCH, has_onednn, onednn_products, products

pytestmark = pytest.mark.skipif(not has_onednn(), reason="torch without oneDNN")
Gradients = Callable[[], list[Tensor]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """Use oneDNN for products of any size; return the shapes of the inputs that it computed."""
    found: list[tuple[int, ...]] = []
    original = torch.ops.mkldnn._linear_pointwise

    class Recorded:
        @staticmethod
        def _linear_pointwise(x: Tensor, *others: Any) -> Any:
            found.append(tuple(x.shape))
            return original(x, *others)

    monkeypatch.setattr(library, "FEWEST", 1)
    monkeypatch.setattr(torch.ops, "mkldnn", Recorded)
    return found


def linear_gradients(*, inputs: int, outputs: int, bias: bool) -> list[Tensor]:
    torch.manual_seed(1)
    layer, x = Linear(inputs, outputs, bias=bias), torch.randn(2, 7, inputs, requires_grad=True)
    y = layer(x)
    return [y, *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])]


def deferred_map() -> list[Tensor]:
    torch.manual_seed(1)
    layer, x = DeferredLinear(6, 6), torch.randn(5, 6, requires_grad=True)
    with deferred_gradients(layer):
        y = layer(layer(x).tanh())
    return [y, *torch.autograd.grad(y.square().sum(), [x, *layer.parameters()])]


def loss() -> list[Tensor]:
    torch.manual_seed(1)
    features, weight = torch.randn(9, 6, requires_grad=True), torch.randn(20, 6, requires_grad=True)
    bias, target = torch.randn(20, requires_grad=True), torch.randint(20, (9,))
    total, nll = LossSum(0.1)(features, target, weight, bias)
    return [total, nll, *torch.autograd.grad(total, [features, weight, bias])]


@pytest.mark.parametrize(
    ("gradients", "least"),
    [
        (lambda: linear_gradients(inputs=6, outputs=10, bias=True), 3),
        (lambda: linear_gradients(inputs=10, outputs=6, bias=False), 3),
        (deferred_map, 5),  # two steps forward and backward, and one gradient of the weights
        (loss, 3),
    ],
)
def test_values_and_gradients_are_those_of_torch(
    gradients: Gradients, least: int, calls: list[tuple[int, ...]]
) -> None:
    expected = gradients()
    assert calls == []
    with onednn_products():
        found = gradients()
    assert len(calls) == least
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_onednn_gets_no_weights_of_other_strides_which_it_computes_slowly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def linear(x: Tensor, weight: Tensor, *others: Any) -> Tensor:
        assert weight.is_contiguous() or weight.mT.is_contiguous()
        return x @ weight.mT

    monkeypatch.setattr(library, "FEWEST", 1)
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(_linear_pointwise=linear))
    x, grad = torch.randn(5, 16)[:, 4:10], torch.randn(1, 8).expand(5, 8)
    for one, other in ((x, grad), (grad, x)):
        torch.testing.assert_close(ONEDNN.weight_gradient(one, other), one.mT @ other)


def test_a_backward_pass_uses_the_products_of_its_forward_pass(
    calls: list[tuple[int, ...]],
) -> None:
    layer, x = Linear(6, 10), torch.randn(5, 6, requires_grad=True)
    with onednn_products():
        y = layer(x)
    y.sum().backward()
    assert len(calls) == 3
    y = layer(x)
    with onednn_products():
        y.sum().backward()
    assert len(calls) == 3


def test_bf16_small_and_autocast_products_are_torchs(calls: list[tuple[int, ...]]) -> None:
    layer, x = Linear(6, 10), torch.randn(5, 6)
    with onednn_products(), torch.autocast("cpu", torch.bfloat16):
        assert layer(x).dtype == torch.bfloat16
    with onednn_products():
        layer.to(torch.bfloat16)(x.bfloat16())
    assert calls == []


def test_the_choice_ends_with_its_block() -> None:
    with onednn_products():
        assert products() is ONEDNN
        with onednn_products(wanted=False):
            assert products() is TORCH
    assert products() is TORCH
