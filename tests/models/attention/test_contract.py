"""Every mechanism keeps the contract, alone and in every combination that is not refused."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
import torch

from models.attention.multihead import attention, read_values
from models.core.attention_config import AttentionConfig
from models.core.registry import names
from models.core.types import Memory
from models.networks.decoder import DecoderOutput
from tests.models.contracts import check
from tests.models.mechanisms import (
    BATCH,
    MONOTONIC,
    always_sampled,
    close,
    combinations,
    each_kind,
    model_of,
    unsharpened,
)


@cache
@torch.no_grad()
def forced_of(preset: str, config: AttentionConfig) -> DecoderOutput:
    """Return the features and weights of BATCH by `model_of`. Not to be changed."""
    return model_of(preset, config).teacher_force(BATCH, want_weights=True)


@each_kind
@torch.no_grad()
def test_weights_are_shares_of_the_real_slots(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        weights = forced_of(preset, config).weights
        assert weights is not None and weights.shape == (3, 6, 7), config
        assert (weights.masked_select(~BATCH.source_mask[:, None]) == 0).all(), config
        assert (weights >= 0).all(), config
        total = weights.sum(-1)
        if config.null_slot or config.normalise in MONOTONIC:
            assert (total <= 1 + 1e-5).all(), config
        elif window == "local_p" and config.read == "soft":
            assert (total <= 1 + 1e-5).all() and (total > 0).all(), config
        else:
            close(total, torch.ones(3, 6), config)
        if config.read == "hard" and config.heads == 1:
            assert ((weights == 0) | (weights == 1)).all(), config


@each_kind
def test_steps_rows_alone_stored_models_and_gradients(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        check(model_of(preset, config), BATCH, config)


@pytest.mark.parametrize("score", names("score"))
@pytest.mark.parametrize("window", names("window"))
def test_the_context_is_the_values_under_the_weights(score: str, window: str) -> None:
    for config, training in itertools.product(combinations(score, window), (True, False)):
        torch.manual_seed(1)
        asked = unsharpened(always_sampled(attention(6, 6, config)).train(training))
        memory = Memory(torch.randn(3, 7, 6), BATCH.source_mask)
        query = torch.randn(3, 2, 6, requires_grad=True)
        found = asked(query, asked.prepare(memory))
        heads = found.weights.unsqueeze(2) if found.heads is None else found.heads  # (B, T, H, S)
        expected = torch.einsum("bths,bhsv->btv", heads, read_values(asked, memory))
        close(found.context, expected, config)
        close(found.weights, heads.mean(2), config)
        if training or (config.read == "soft" and config.normalise not in MONOTONIC):
            (expected.sum() if found.log_prob is None else found.log_prob.sum()).backward()
            assert query.grad is not None and query.grad.abs().sum() > 0, config
