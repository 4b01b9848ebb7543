"""Every mechanism keeps the contract, alone and in every combination that is not refused."""

from __future__ import annotations

import itertools
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from models.attention.base import Attention
from models.attention.multihead import Heads, attention, repeated
from models.attention.softmax import grouped
from models.core.config import AttentionConfig, ModelConfig
from models.core.registry import names
from models.core.settings import from_dict, to_dict
from models.core.types import AttentionOutput, Batch, Memory, select
from models.networks.bundle import build
from models.networks.decoder import DecoderOutput
from models.storage.weights import fill, weights_of
from tests.models.mechanisms import (
    BATCH,
    MONOTONIC,
    SIZES,
    always_sampled,
    close,
    combinations,
    configured,
    each_kind,
    model_of,
    unsharpened,
)
from tests.models.small import VOCABULARY, steps


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
@torch.no_grad()
def test_step_by_step_equals_all_at_once(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        model = model_of(preset, config)
        forced = forced_of(preset, config)
        log_probs, weights = steps(model, BATCH)
        close(log_probs, model.output(forced.features).log_softmax(-1), config)
        assert weights is not None and forced.weights is not None
        close(weights, forced.weights, config)


@each_kind
@torch.no_grad()
def test_a_sentence_alone_equals_the_same_in_a_batch(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        model = model_of(preset, config)
        together = forced_of(preset, config)
        slots = int(BATCH.source_mask[0].sum())
        row = Batch(*(part[:1, :slots] for part in BATCH[:2]), *(part[:1] for part in BATCH[2:5]))
        alone = model.teacher_force(row, want_weights=True)
        close(together.features[:1], alone.features, config)
        assert together.weights is not None and alone.weights is not None
        close(together.weights[:1, :, :slots], alone.weights, config)


@each_kind
@torch.no_grad()
def test_hypotheses_that_change_places_take_their_history_along(
    preset: str, score: str, window: str
) -> None:
    """Two hypotheses a sentence; the second is dropped, the first goes on twice, and so on."""
    for config in combinations(score, window, preset):
        model = model_of(preset, config)
        prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
        rows, said = torch.tensor([0, 0, 1, 1, 2, 2]), torch.empty(6, 0, dtype=torch.long)
        for moves in ([0, 1, 2, 3, 4, 5], [0, 0, 3, 2, 5, 5], [1, 0, 3, 3, 4, 5]):
            state = select(state, torch.tensor(moves) if said.shape[1] else rows)
            said = said[moves]
            tokens = 4 + (torch.arange(6) * 5 + said.shape[1] * 3) % 20
            said = torch.cat([said, tokens[:, None]], 1)
            step = model.step(tokens, state, prepared)
            state = step.state
        batch = Batch(BATCH.source[rows], BATCH.source_mask[rows], said, said, said > 0)
        expected = model.output(model.teacher_force(batch).features[:, -1]).log_softmax(-1)
        close(step.log_probs, expected, config)


@each_kind
def test_gradients_reach_every_parameter(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        torch.manual_seed(3)
        model = unsharpened(always_sampled(build(configured(preset, config), SIZES)).train())
        forced = model.teacher_force(BATCH)
        loss = (model.output(forced.features) * torch.randn(3, 6, VOCABULARY)).sum()
        if config.read == "hard":
            assert forced.log_prob is not None and forced.entropy is not None
            loss = loss + (forced.log_prob * torch.randn(3, 6)).sum() + forced.entropy.sum()
        loss.backward()
        for name, parameter in model.named_parameters():
            grad = parameter.grad
            assert grad is not None and grad.isfinite().all(), (config, name)
            assert grad.abs().sum() > 0, (config, name)


@each_kind
def test_what_is_saved_is_what_is_loaded(
    preset: str, score: str, window: str, tmp_path: Path
) -> None:
    for config in combinations(score, window, preset):
        if config.normalise not in ("softmax", *MONOTONIC):  # others have no parameters
            continue
        model = model_of(preset, config)
        other = build(from_dict(ModelConfig, to_dict(model.config)), SIZES).eval()
        fill(other, weights_of(model), tmp_path)
        with torch.no_grad():
            loaded = other.teacher_force(BATCH, want_weights=True)
            assert torch.equal(loaded.features, forced_of(preset, config).features), config


@pytest.mark.parametrize("score", names("score"))
@pytest.mark.parametrize("window", names("window"))
def test_the_context_is_the_values_under_the_weights(score: str, window: str) -> None:
    mask = BATCH.source_mask
    for config, training in itertools.product(combinations(score, window), (True, False)):
        torch.manual_seed(1)
        asked = unsharpened(always_sampled(attention(6, 6, config)).train(training))
        query, memory = torch.randn(3, 2, 6, requires_grad=True), Memory(torch.randn(3, 7, 6), mask)
        prepared = asked.prepare(memory)
        if isinstance(asked, Attention):
            attended = asked(query, prepared)
            contexts, weights = attended.context, attended.weights
            expected = weights @ memory.values
        else:
            torch.manual_seed(2)
            attended = asked(query, prepared)
            contexts = attended.context
            torch.manual_seed(2)
            single = one_by_one(asked, query, prepared)
            expected = torch.cat(
                [
                    head.weights @ values
                    for head, values in zip(single, each_head(prepared.values), strict=True)
                ],
                -1,
            )
            weights = (single[0].weights + single[1].weights) / 2
        close(contexts, expected, config)
        close(attended.weights, weights, config)
        if training or (config.read == "soft" and config.normalise not in MONOTONIC):
            (contexts.sum() if attended.log_prob is None else attended.log_prob.sum()).backward()
            assert query.grad is not None and query.grad.abs().sum() > 0, config


def one_by_one(asked: Heads, query: Tensor, prepared: Any) -> list[AttentionOutput]:
    queries = asked.query(query).chunk(2, -1)
    each = zip(each_head(prepared.keys), each_head(prepared.values), strict=True)
    memories = [prepared._replace(keys=keys, values=values) for keys, values in each]
    past = grouped(asked.begin(prepared), query)
    pasts = [None if past is None else past.head(number) for number in range(2)]
    parts = zip(asked.each, queries, memories, pasts, strict=True)
    return [head.attend(part, memory, one) for head, part, memory, one in parts]


def each_head(part: Tensor) -> tuple[Tensor, ...]:
    """Return keys or values of 2 heads, which may share them."""
    return repeated(part, 2).unbind(1)
