"""Positions equal their formulas, and a Transformer decodes the same with each."""

from __future__ import annotations

import cmath

import pytest
import torch

from models.attention.positions import REACH, Alibi, Learned, Relative, Rotary
from models.core.registry import names
from models.networks.config import TransformerConfig
from tests.models.mechanisms import transformer

CONFIG = TransformerConfig(embedding=12, heads=3, max_source=6)
every_position = pytest.mark.parametrize("name", names("position"))


@every_position
@torch.no_grad()
def test_the_order_of_the_source_matters_unless_there_are_no_positions(name: str) -> None:
    model, mask = transformer(position=name), torch.ones(1, 4, dtype=torch.bool)
    one, other = (
        model.encode(torch.tensor([ids]), mask).values for ids in ([5, 6, 7, 3], [6, 5, 7, 3])
    )
    assert torch.allclose(one[0, 3], other[0, 3], atol=1e-4) is (name == "none")


def test_rotary_turns_pairs_of_features_as_complex_numbers() -> None:
    x = torch.randn(1, 3, 5, 4)
    turned = Rotary(CONFIG).turned(x, 2)
    for t in range(5):
        for j in range(2):
            angle = (t + 2) * 10_000 ** (-2 * j / 4)
            one = complex(x[0, 1, t, j], x[0, 1, t, j + 2]) * cmath.exp(1j * angle)
            assert complex(turned[0, 1, t, j], turned[0, 1, t, j + 2]) == pytest.approx(
                one, abs=1e-5
            )


def test_alibi_is_a_rate_times_the_distance() -> None:
    bias = Alibi(CONFIG).bias(torch.randn(2, 3, 2, 4), 1, 5)
    for head, t, i in ((0, 0, 0), (1, 1, 4), (2, 0, 3)):
        expected = -(2 ** (-8 * (head + 1) / 3)) * abs(t + 1 - i)
        assert float(bias[0, head, t, i]) == pytest.approx(expected)


def test_relative_is_the_product_with_the_vector_of_the_distance() -> None:
    torch.manual_seed(1)
    relative, query = Relative(CONFIG), torch.randn(2, 3, 2, 4)
    bias = relative.bias(query, 20, 40)
    for t, i in ((0, 0), (0, 21), (1, 39), (1, 20)):
        row = max(-REACH, min(REACH, i - (20 + t))) + REACH
        expected = query[1, 2, t] @ relative.embedding[row] / 2  # the root of 4 features
        torch.testing.assert_close(bias[1, 2, t, i], expected)


def test_learned_positions_after_the_last_share_its_vector() -> None:
    learned = Learned(CONFIG)
    added = learned.added(torch.zeros(1, 3, 12), 4)[0]
    torch.testing.assert_close(added, learned.embedding[[4, 5, 5]].detach())
