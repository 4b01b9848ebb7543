"""Packed weights: the same maps, restored afterwards, and never those of earlier weights."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from torch import nn

from models.layers.packed import PackedMap, packed_weights
from models.numerics.linear import prefers_onednn

packs = pytest.mark.skipif(not prefers_onednn(), reason="a processor for which MKL is fast")


def layer() -> nn.Linear:
    torch.manual_seed(1)
    return nn.Linear(256, 300)


@packs
@pytest.mark.parametrize("rows", [1, 3, 40])
def test_a_packed_map_equals_its_layer(rows: int) -> None:
    one, x = layer(), torch.randn(rows, 2, 256)[:, 1]  # not contiguous
    with torch.inference_mode():
        expected = one(x)
        with packed_weights(one):
            assert isinstance(one.forward, PackedMap)
            torch.testing.assert_close(one(x), expected)
        assert "forward" not in one.__dict__


@packs
def test_weights_that_a_fused_optimiser_changed_are_packed_again() -> None:
    """Such an optimiser does not count its changes in the version of a tensor."""
    one, x = layer(), torch.randn(40, 256)
    optimiser = torch.optim.Adam(one.parameters(), lr=0.1, fused=True)
    with torch.inference_mode(), packed_weights(one):
        before = one(x)
    one(x).square().sum().backward()
    optimiser.step()
    with torch.inference_mode():
        expected = one(x)
        assert not torch.allclose(expected, before, atol=0.1)
        with packed_weights(one):
            torch.testing.assert_close(one(x), expected)


@packs
def test_threads_that_search_with_one_model_do_not_disturb_each_other() -> None:
    one, x = layer(), torch.randn(40, 256)

    def largest_difference(_: int) -> float:
        with torch.inference_mode():
            differences = []
            for _ in range(50):
                with packed_weights(one):
                    differences.append(float((one(x) - expected).abs().max()))
        return max(differences)

    with torch.inference_mode():
        expected = one(x)
    with ThreadPoolExecutor(4) as threads:
        assert max(threads.map(largest_difference, range(4))) < 1e-5
    assert "forward" not in one.__dict__


def test_nothing_is_packed_where_gradients_are_needed() -> None:
    one = layer()
    with packed_weights(one):
        assert "forward" not in one.__dict__
