"""The sliced loss equals PyTorch's cross-entropy, in value and gradient."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from models import losses as loss
from models.losses import token_loss

VOCABULARY = 11


class Inputs(NamedTuple):
    features: Tensor  # (10, 6)
    target: Tensor  # (10,)
    weight: Tensor  # (Y, 6)
    bias: Tensor  # (Y,)

    @property
    def learned(self) -> list[Tensor]:
        return [self.features, self.weight, self.bias]


class Result(NamedTuple):
    loss: Tensor
    grads: tuple[Tensor, ...]


@pytest.fixture(params=[1, 3, 10, 1000], ids=lambda rows: f"slices-of-{rows}")
def sliced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "SLICE_ELEMENTS", request.param * VOCABULARY)


def inputs() -> Inputs:
    torch.manual_seed(1)
    return Inputs(
        torch.randn(10, 6).requires_grad_(),
        torch.randint(VOCABULARY, (10,)),
        torch.randn(VOCABULARY, 6).requires_grad_(),
        torch.randn(VOCABULARY).requires_grad_(),
    )


def expected(given: Inputs, smoothing: float) -> Result:
    logits = linear(given.features, given.weight, given.bias)
    value = cross_entropy(logits, given.target, label_smoothing=smoothing, reduction="sum")
    return Result(value, torch.autograd.grad(value, given.learned))


@pytest.mark.usefixtures("sliced")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_it_equals_cross_entropy(smoothing: float) -> None:
    given = inputs()
    value, nll = token_loss(*given, smoothing)
    reference = expected(given, smoothing)
    torch.testing.assert_close(value, reference.loss)
    torch.testing.assert_close(nll.sum(), expected(given, 0.0).loss)
    assert not nll.requires_grad
    for ours, theirs in zip(
        torch.autograd.grad(value / 7, given.learned), reference.grads, strict=True
    ):
        torch.testing.assert_close(ours, theirs / 7)


def test_it_holds_for_logits_far_from_zero() -> None:
    given = inputs()
    for place, offset in ((given.bias, 1e4), (given.bias, -2e4)):
        with torch.no_grad():
            place.add_(offset)
        value, _ = token_loss(*given, 0.1)
        torch.testing.assert_close(value, expected(given, 0.1).loss, rtol=1e-2, atol=0)


@pytest.mark.usefixtures("sliced")
def test_in_bf16_it_is_close() -> None:
    given = inputs()
    with torch.autocast("cpu", torch.bfloat16):
        value, nll = token_loss(*given, 0.1)
    reference = expected(given, 0.1)
    assert value.dtype == nll.dtype == torch.float32
    torch.testing.assert_close(value, reference.loss, rtol=0.01, atol=0)
    for ours, theirs in zip(
        torch.autograd.grad(value, given.learned), reference.grads, strict=True
    ):
        assert ours.dtype == torch.float32
        assert float((ours - theirs).norm() / theirs.norm()) < 0.02


def test_without_gradients_the_value_is_the_same() -> None:
    given = inputs()
    with torch.no_grad():
        silent, _ = token_loss(*given, 0.1)
    torch.testing.assert_close(silent, token_loss(*given, 0.1)[0])
    assert not silent.requires_grad
