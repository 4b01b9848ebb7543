"""Coverage penalties equal their formulas and reach the loss."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.bundle import build
from models.config import AttentionLossConfig
from models.decoders.base import DecoderOutput
from models.losses import AttentionLoss, coverage_penalty
from tests.models.mechanisms import BATCH, FAMILIES, SIZES
from tests.models.small import pairs, small_config, small_model


def test_coverage_penalties_are_their_formulas_in_plain_loops() -> None:
    torch.manual_seed(1)
    weights = torch.rand(3, 6, 7) * BATCH.source_mask[:, None]
    see = doubly = 0.0
    for b in range(3):
        slots, steps = int(BATCH.source_mask[b].sum()), int(BATCH.target_mask[b].sum())
        for i in range(slots):
            column = [float(weights[b, t, i]) for t in range(steps)]
            see += sum(min(column[t], sum(column[:t])) for t in range(steps))
            doubly += (1 - sum(column)) ** 2
    masks = BATCH.source_mask, BATCH.target_mask
    assert float(coverage_penalty(weights, *masks, kind="see")) == pytest.approx(see, abs=1e-4)
    found = coverage_penalty(weights, *masks, kind="doubly_stochastic")
    assert float(found) == pytest.approx(doubly, abs=1e-4)


@pytest.mark.parametrize("preset", [*FAMILIES, "transformer-nano"])
@pytest.mark.parametrize("kind", ["see", "doubly_stochastic"])
def test_the_coverage_penalty_goes_into_the_loss_with_its_weight(preset: str, kind: str) -> None:
    torch.manual_seed(1)
    model = build(small_config(preset), SIZES)
    term = AttentionLoss(AttentionLossConfig(coverage=kind, coverage_weight=0.5), model)
    forced = model.teacher_force(BATCH, want_weights=term.wants_weights)
    value, _ = term(forced, BATCH, torch.ones(3), None)
    assert forced.weights is not None and isinstance(value, Tensor)
    masks = BATCH.source_mask, BATCH.target_mask
    assert float(value.detach()) == pytest.approx(
        0.5 * float(coverage_penalty(forced.weights.detach(), *masks, kind=kind))
    )
    value.backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())


def test_attention_is_drawn_to_regions_at_the_steps_that_have_one() -> None:
    batch = pairs([4, 3], [3, 2])
    regions = torch.zeros(2, 3, 4)
    regions[0, 1, :2] = 0.5
    weights = torch.full((2, 3, 4), 0.25)
    weights[0, 1] = torch.tensor([0.8, 0.1, 0.1, 0.0])
    loss = AttentionLoss(AttentionLossConfig(regions=2), small_model("rnnsearch-nano"))
    forced = DecoderOutput(torch.zeros(2, 3, 1), None, weights)
    terms, _ = loss(forced, batch._replace(regions=regions), torch.zeros(5), None)
    expected = -(math.log(0.8) + math.log(0.1))
    torch.testing.assert_close(terms, torch.tensor(expected), atol=1e-5, rtol=0)


def test_the_penalty_on_entropy_counts_real_steps() -> None:
    batch = pairs([4, 3], [3, 2])
    weights = torch.full((2, 3, 4), 0.25)
    weights[0, 0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    loss = AttentionLoss(AttentionLossConfig(peaked=0.5), small_model("rnnsearch-nano"))
    forced = DecoderOutput(torch.zeros(2, 3, 1), None, weights)
    terms, _ = loss(forced, batch, torch.zeros(5), None)
    torch.testing.assert_close(terms, torch.tensor(0.5 * 4 * math.log(4)), atol=1e-5, rtol=0)
