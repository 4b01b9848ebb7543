"""Self-attention inside the recurrent encoder (Cheng et al. 2016)."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.networks.recurrent_encoder import IntraRecurrence
from tests.models.mechanisms import CLOSE


@torch.no_grad()
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_intra_attention_is_its_formula_written_out(cell: str) -> None:
    torch.manual_seed(1)
    layer = IntraRecurrence(3, 4, cell)
    x, score = torch.randn(1, 5, 3), layer.score
    summary = torch.zeros(1, layer.parts, 4)
    states: list[Tensor] = []
    for t in range(5):
        if t:
            query = score.query(torch.cat([x[0, t], summary[0, 0]]))  # of x_t and h~_{t-1}
            hidden = [(query + score.key(past[0, 0])).tanh() for past in states]
            powers = [math.exp(score.energy.dot(units)) for units in hidden]
            summary = torch.zeros(1, layer.parts, 4)
            for power, past in zip(powers, states, strict=True):
                summary += past * power / sum(powers)
        states.append(layer.step(x[:, t], summary))
    expected = torch.stack([state[:, 0] for state in states], 1)
    torch.testing.assert_close(layer(x), expected, **CLOSE)
