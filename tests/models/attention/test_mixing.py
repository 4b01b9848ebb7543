"""Every mixing of tokens equals its equation, and a Transformer decodes the same with each."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import elu

from models.attention.mixing import SMALLEST, AverageAttention, LinearAttention
from models.networks.config import TransformerConfig

CONFIG = TransformerConfig(embedding=12, heads=3, hidden=16, dropout=0.0)


@pytest.mark.parametrize("causal", [True, False])
@torch.no_grad()
def test_linear_attention_equals_its_equation_in_plain_loops(causal: bool) -> None:
    torch.manual_seed(1)
    attention, x = LinearAttention(CONFIG), torch.randn(1, 5, 12)
    mask = None if causal else torch.tensor([[True] * 4 + [False]])
    query, keys, values = (part[0].view(5, 3, 4) for part in attention.input(x).chunk(3, -1))
    rows = []
    for t in range(5):
        heads = []
        for h in range(3):
            sums, total = torch.zeros(4), torch.tensor(SMALLEST)
            for i in range(t + 1 if causal else 4):
                weight = (elu(query[t, h]) + 1) @ (elu(keys[i, h]) + 1)
                sums, total = sums + weight * values[i, h], total + weight
            heads.append(sums / total)
        rows.append(torch.cat(heads))
    expected = attention.output(torch.stack(rows))
    torch.testing.assert_close(attention(x, mask)[0][0], expected)


@torch.no_grad()
def test_the_average_network_equals_its_equations_in_plain_loops() -> None:
    torch.manual_seed(1)
    average, x = AverageAttention(CONFIG).eval(), torch.randn(1, 5, 12)
    found, seen = average(x)
    for j in range(1, 6):
        y = x[0, j - 1]
        g = average.feed_forward(sum(x[0, k] for k in range(j)) / j)
        i, f = average.gates(torch.cat([y, g])).sigmoid().chunk(2)
        torch.testing.assert_close(found[0, j - 1], i * y + f * g)
    assert seen.length == 5 and seen.parts[0].shape == (1, 12)
