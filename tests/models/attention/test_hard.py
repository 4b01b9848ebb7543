"""Hard attention: what is read while training and in use."""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from models.attention import reads
from models.attention.reads import Hard
from models.attention.softmax import History
from models.core.attention_config import AttentionConfig
from models.core.types import AttentionOutput, Batch
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from tests.models.mechanisms import (
    BATCH,
    FAMILIES,
    READ_MODES,
    SIZES,
    configured,
    hard_model,
    model_of,
    refused,
)
from tests.models.small import small_config

SHARES = torch.tensor([[[0.1, 0.0, 0.6, 0.3, 0.0]]])


def hard_read(
    weights: Tensor,
    values: Tensor,
    *,
    training: bool = False,
    **changes: Any,
) -> AttentionOutput:
    """Return the context for weights (B, T, S), each query at its own step."""
    read = Hard(AttentionConfig.of(read="hard", **changes)).train(training)
    read.expected_share = 0.0
    rows, queries = weights.shape[:2]
    random = read.begin(torch.zeros(rows))[:, None].expand(rows, queries)
    step = torch.arange(queries).expand(rows, queries).float()
    return read(weights, values, History(step, weights, weights, random))


def test_hard_attention_draws_by_the_weights_while_training() -> None:
    torch.manual_seed(1)
    weights = SHARES.expand(1, 20000, 5).clone().requires_grad_()
    values = torch.eye(5)[None]
    attended = hard_read(weights * 0.5, values, training=True)  # local_p: a sum of less than 1
    shares = attended.weights.detach()[0].mean(0)
    torch.testing.assert_close(shares, SHARES[0, 0], atol=0.015, rtol=0)
    assert torch.equal(attended.context, attended.weights)
    drawn = attended.weights.argmax(-1)
    expected = SHARES[0, 0][drawn].log()
    assert attended.log_prob is not None and attended.entropy is not None
    torch.testing.assert_close(attended.log_prob, expected)
    bits = -sum(p * math.log(p) for p in (0.1, 0.6, 0.3))
    torch.testing.assert_close(attended.entropy, torch.full((1, 20000), bits))
    (attended.log_prob.sum() + attended.entropy.sum()).backward()
    assert weights.grad is not None and weights.grad.isfinite().all()


def test_hard_attention_outside_training_is_argmax_sampled_or_expected() -> None:
    weights = SHARES.expand(1, 20000, 5)
    values = torch.randn(1, 5, 3)
    likeliest = hard_read(weights, values, read_decode="argmax")
    assert (likeliest.weights.argmax(-1) == 2).all() and likeliest.log_prob is None
    torch.testing.assert_close(likeliest.context[0, 0], values[0, 2])
    drawn = hard_read(weights, values, read_decode="sample").weights
    assert drawn.sum(-1).eq(1).all()
    torch.testing.assert_close(drawn.mean((0, 1)), SHARES[0, 0], atol=0.015, rtol=0)
    expected = hard_read(SHARES, values, read_decode="expected").weights
    torch.testing.assert_close(expected, SHARES)


def test_samples_of_other_seeds_steps_and_heads_are_independent() -> None:
    step = torch.arange(4096.0)
    found = [reads.hashed_uniform(step, torch.full((4096,), head), seed) for head, seed in SEEDS]
    found += [found[0].roll(1), found[0].roll(2)]
    table = torch.stack(found)
    correlation = table.corrcoef() - torch.eye(len(found))
    assert float(correlation.abs().max()) < 0.06  # four standard errors
    assert (table >= 0).all() and (table < 1).all()
    bins = torch.stack([row.histc(16, 0, 1) for row in table])
    assert float(((bins - 256).square() / 256).sum(1).max()) < 45  # chi-squared, 15 df: p = 1e-4


SEEDS = [(head, seed) for head in (0.0, 1.0, 2.0) for seed in (1, 2, 77)]


@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_one_read_mode_is_sampled_for_a_whole_sentence(preset: str, heads: int) -> None:
    config = AttentionConfig.of(score="general", read="hard", heads=heads)
    torch.manual_seed(1)
    model = build(configured(preset, config), SIZES).train()
    forced = model.teacher_force(BATCH.map(lambda part: part.repeat(40, 1)))
    assert forced.log_prob is not None
    soft = forced.log_prob == 0  # (B, T)
    assert (soft == soft[:, :1]).all() and (forced.log_prob[~soft] < 0).all()
    assert 0.3 < float(soft.float().mean()) < 0.7


def weights_of(model: EncoderDecoder, batch: Batch) -> Tensor:
    """Return the weights (B, T, S) of teacher forcing."""
    weights = model.teacher_force(batch, want_weights=True).weights
    assert weights is not None
    return weights


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_sampled_readings_depend_on_seed_and_step_alone(preset: str, heads: int) -> None:
    """Not on the batch, on what was drawn before, or on decoding at once or step by step."""
    config = AttentionConfig.of(score="general", read="hard", heads=heads, read_decode="sample")
    model = model_of(preset, config)
    torch.manual_seed(1)
    together = weights_of(model, BATCH)
    torch.manual_seed(2)
    assert torch.equal(together, weights_of(model, BATCH))
    others = [weights_of(model.with_read_mode("sample", seed=n), BATCH) for n in range(2, 6)]
    assert any(not torch.equal(other, together) for other in others)


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_another_read_mode_shares_the_weights_and_does_not_change_the_model(
    preset: str, heads: int
) -> None:
    config = AttentionConfig.of(score="general", read="hard", heads=heads)
    model = model_of(preset, config)
    before = model.teacher_force(BATCH).features
    assert model.read_mode == "hard argmax"
    for decode in READ_MODES:
        other = model.with_read_mode(decode, seed=3)
        assert other.read_mode == f"hard {decode}" and not other.training
        tensors = zip(model.parameters(), other.parameters(), strict=True)
        assert all(mine is yours for mine, yours in tensors)
        like = model_of(preset, dataclasses.replace(config, read_decode=decode))
        for part in like.modules():
            if isinstance(part, Hard):
                part.seed = 3
        expected = like.teacher_force(BATCH).features
        assert torch.equal(other.teacher_force(BATCH).features, expected)
    assert model.read_mode == "hard argmax" and torch.equal(
        model.teacher_force(BATCH).features, before
    )


def test_the_read_mode_is_reported_and_soft_attention_has_no_other() -> None:
    soft, none = (build(small_config(f"{name}-nano"), SIZES) for name in ("luong", "seq2seq"))
    assert (soft.read_mode, none.read_mode) == ("soft", "")
    for model in (soft, none):
        refused(partial(model.with_read_mode, "argmax", seed=1), "not hard", "read=hard")
    refused(lambda: hard_model("luong-nano").with_read_mode("best", seed=1), "'best'", "argmax")


def test_the_key_of_an_input_does_not_depend_on_its_padding() -> None:
    ids = torch.tensor([[7, 0, 9, 4, 4], [7, 0, 9, 4, 4], [9, 0, 7, 4, 4]])
    short = torch.arange(5) < torch.tensor([[3], [5], [3]])
    keys = reads.input_key(ids, short)
    assert keys[0] == reads.input_key(ids[:1, :3], short[:1, :3])
    assert len(set(keys.tolist())) == 3 and int(keys.max()) < 2**22
    features = torch.randn(2, 5, 8)
    keys = reads.input_key(features, short[:2])
    assert keys[0] == reads.input_key(features[:1, :3], short[:1, :3])
