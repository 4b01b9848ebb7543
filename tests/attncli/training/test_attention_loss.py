"""The loop trains what the attention adds to the loss, and a checkpoint keeps its baseline."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from attncli.training.interfaces import UpdateBatch
from attncli.training.settings.config import TrainConfig
from attncli.training.state import State
from attncli.training.stepper import Stepper
from models.core.config import AttentionConfig, AttentionLossConfig
from models.core.types import VocabularySizes
from models.networks.bundle import build
from tests.models.small import VOCABULARY, pairs, small_config

BATCH = pairs([4, 7, 2], [5, 3, 6])
EXAMPLES: Any = SimpleNamespace(batch=lambda numbers: BATCH, shared=None)
UPDATE = UpdateBatch(EXAMPLES, np.arange(3))


def fresh(attention: AttentionConfig, loss: AttentionLossConfig) -> tuple[State, Stepper]:
    torch.manual_seed(1)
    config = TrainConfig(lr=0.01, warmup=1, schedule="constant", label_smoothing=0, attention=loss)
    model = dataclasses.replace(small_config("rnnsearch-nano"), attention=attention)
    sizes = VocabularySizes(VOCABULARY, VOCABULARY, True)
    state = State(build(model, sizes), config)
    return state, Stepper(state, config, torch.float32)


def test_hard_attention_learns_and_its_baseline_follows() -> None:
    state, stepper = fresh(AttentionConfig(read="hard"), AttentionLossConfig())
    energy = state.model.get_parameter("decoder.attention.score.energy")
    before = energy.detach().clone()
    steps = [stepper.train_on(UPDATE, 0.0) for _ in range(60)]
    assert steps[-1].nll < steps[0].nll / 3 and not torch.equal(before, energy)
    assert state.counters.baseline is not None
    assert -steps[0].nll < state.counters.baseline < 0


@pytest.mark.parametrize("kind", ["see", "doubly_stochastic"])
def test_a_coverage_penalty_lowers_what_it_penalises(kind: str) -> None:
    def uncovered(weight: float) -> float:
        loss = AttentionLossConfig(coverage=kind, coverage_weight=weight)
        state, stepper = fresh(AttentionConfig(), loss)
        for _ in range(30):
            stepper.train_on(UPDATE, 0.0)
        weights = state.model.teacher_force(BATCH, want_weights=True).weights
        assert weights is not None
        real = weights * BATCH.target_mask[:, :, None]
        if kind == "see":
            return float(torch.minimum(real, real.cumsum(1) - real).sum().detach())
        return float(((1 - real.sum(1)) * BATCH.source_mask).square().sum().detach())

    assert uncovered(5.0) < 0.9 * uncovered(0.0)
