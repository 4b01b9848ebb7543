"""Self-attention inside the recurrent encoder (Cheng et al. 2016)."""

from __future__ import annotations

import dataclasses
import math

import pytest
import torch
from torch import Tensor

from models.networks.bundle import build
from models.networks.recurrent_encoder import IntraRecurrence
from tests.models.mechanisms import BATCH, CLOSE, FAMILIES, SIZES
from tests.models.small import small_config


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


@torch.no_grad()
@pytest.mark.parametrize("preset", [*FAMILIES, "seq2seq-nano"])
def test_the_memory_has_the_shape_of_other_recurrent_encoders(preset: str) -> None:
    torch.manual_seed(1)
    config = dataclasses.replace(small_config(preset), encoder_layers=2)
    model, plain = (
        build(dataclasses.replace(config, encoder_attention=name), SIZES).eval()
        for name in ("intra", "none")
    )
    memory, other = (one.encode(BATCH.source, BATCH.source_mask) for one in (model, plain))
    assert memory.final is not None and other.final is not None
    assert (memory.values.shape, memory.final.shape) == (other.values.shape, other.final.shape)
    size = model.config.hidden  # <-h_1 stands at the end of the final states
    torch.testing.assert_close(memory.final[:, -size:], memory.values[:, 0, size:])
