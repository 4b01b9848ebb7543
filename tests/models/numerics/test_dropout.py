"""Dropout by random bytes keeps its share, its mean and its gradient."""

from __future__ import annotations

import math

import pytest
import torch

from models.numerics import Dropout


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_dropout_zeroes_its_share_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1000, 401)
    y = Dropout(rate).train()(x)
    kept = y != 0
    share = round(256 * (1 - rate)) / 256
    assert float(kept.float().mean()) == pytest.approx(share, abs=0.003)
    assert float(kept.float().mean(0).std()) == pytest.approx(
        math.sqrt(share * (1 - share) / 1000), rel=0.15
    )  # every column alike: the 8 bytes of a draw are independent
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 1 / share))
    assert not torch.equal(y, Dropout(rate).train()(x))


@pytest.mark.parametrize("rate", [0.0005, 0.001, 0.0019])
def test_dropout_too_rare_for_a_byte_still_drops_its_share(rate: float) -> None:
    torch.manual_seed(1)
    dropped = Dropout(rate).train()(torch.ones(1_000_000)) == 0
    assert float(dropped.float().mean()) == pytest.approx(rate, rel=0.2)


def test_the_gradient_of_dropout_goes_through_what_was_kept() -> None:
    torch.manual_seed(1)
    x = torch.randn(50, 7, requires_grad=True)
    y = Dropout(0.4).train()(x)
    y.backward(torch.full_like(y, 2.0))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2 * y.detach() / x.detach())


def test_dropout_does_nothing_in_evaluation_and_nothing_at_zero() -> None:
    x = torch.randn(100)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x
    assert not torch.equal(Dropout(0.5).train()(x), x)
