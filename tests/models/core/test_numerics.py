"""oneDNN computes the same linear map."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.nn.functional import linear as torch_linear

from models.core import numerics as maps

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
