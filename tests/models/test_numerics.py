"""Dropout by random bytes keeps its share and mean; oneDNN computes the same linear map."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn.functional import linear as torch_linear

from models.core import numerics as maps
from models.core.numerics import Dropout


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


ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")

Calls = list[tuple[int, ...]]  # shapes of inputs


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Use oneDNN on any processor; return the shapes of the inputs that it computed."""
    if not ONEDNN:
        pytest.skip("torch without oneDNN")
    found: Calls = []
    original = torch.ops.mkldnn._linear_pointwise

    class Recorded:
        @staticmethod
        def _linear_pointwise(x: torch.Tensor, *others: Any) -> Any:
            found.append(tuple(x.shape))
            return original(x, *others)

    monkeypatch.setattr(maps, "prefers_onednn", lambda: True)
    monkeypatch.setattr(torch.ops, "mkldnn", Recorded)
    return found


@pytest.mark.parametrize("shape", [(64,), (3, 20), (2, 3, 10)])
@pytest.mark.parametrize("biased", [True, False])
def test_onednn_computes_the_same_map(calls: Calls, shape: tuple[int, ...], biased: bool) -> None:
    layer = maps.Linear(512, 1024, bias=biased)
    x = torch.randn(*shape, 512)
    with torch.inference_mode():
        found = layer(x)
        expected = torch_linear(x, layer.weight, layer.bias)
    assert calls == [(*shape, 512)]
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_a_map_of_a_view_is_that_of_its_copy(calls: Calls) -> None:
    layer = maps.Linear(512, 1024)
    x = torch.randn(2, 1024, 40).mT[:, :, ::2]  # neither contiguous nor of unit stride
    with torch.no_grad():
        torch.testing.assert_close(layer(x), layer(x.contiguous()), atol=1e-5, rtol=1e-5)
    assert len(calls) == 2


def test_small_maps_autocast_and_training_use_torch(calls: Calls) -> None:
    layer = maps.Linear(512, 1024)
    layer(torch.randn(64, 512)).sum().backward()
    with torch.no_grad():
        layer(torch.randn(1, 512))
        with torch.autocast("cpu", torch.bfloat16):
            assert layer(torch.randn(64, 512)).dtype == torch.bfloat16
    assert calls == []
    assert layer.weight.grad is not None
