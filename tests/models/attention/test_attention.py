"""Nothing in view and the null slot read zero; sizes that do not fit are refused."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor, nn

from models.attention.base import Attention
from models.core.attention_config import AttentionConfig
from models.core.registry import names
from models.core.types import Memory
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from tests.models.mechanisms import (
    BATCH,
    EQUAL_SIZES,
    FAMILIES,
    MONOTONIC,
    SIZES,
    TRANSFORMER,
    cannot_move,
    configured,
)
from tests.models.small import changed

COMPOSITIONS = [
    AttentionConfig.of(score=score, window=window, normalise=normalise, read=read)
    for score, window, normalise in itertools.product(*map(names, ("score", "window", "normalise")))
    for read in (names("read") if score == "additive" else ["soft"])
    if not cannot_move(window, normalise, read)
]


def sizes(score: str) -> tuple[int, int]:
    """Query and value size."""
    return (4, 4) if score in EQUAL_SIZES else (3, 4)


def composed(config: AttentionConfig) -> tuple[Attention, Tensor, Memory]:
    """Return an attention, queries (2, 3, Q), and a memory with 2 padded slots in sentence 1."""
    torch.manual_seed(1)
    query_size, value_size = sizes(config.score)
    attention = Attention(query_size, value_size, config)
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    query = torch.randn(2, 3, query_size, requires_grad=True)
    return attention, query, Memory(torch.randn(2, 5, value_size, requires_grad=True), mask)


compositions = pytest.mark.parametrize(
    "config", COMPOSITIONS, ids=lambda c: f"{c.score}-{c.window}-{c.normalise}-{c.read}"
)


@compositions
def test_a_query_with_nothing_in_view_reads_zero(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    blind = memory._replace(mask=torch.tensor([[False] * 5, [True] * 5]))
    context, weights, *_ = attention(query, attention.prepare(blind))
    assert (context[0] == 0).all() and (weights[0] == 0).all() and (weights[1].sum(-1) > 0).all()
    context.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


MASK = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])


def attended(config: AttentionConfig, null: float) -> tuple[Tensor, Tensor, Tensor]:
    """Return scores (B, T, S), weights and context of a dot product, with a score of the slot."""
    torch.manual_seed(1)
    attention = Attention(4, 4, config).eval()
    assert attention.null is not None
    nn.init.constant_(attention.null.score, null)
    query, memory = torch.randn(2, 3, 4), Memory(torch.randn(2, 5, 4), MASK)
    found = attention(query, attention.prepare(memory))
    torch.testing.assert_close(found.context, found.weights @ memory.values)
    return query @ memory.values.mT, found.weights, found.context


@torch.no_grad()
@pytest.mark.parametrize("normalise", [n for n in names("normalise") if n not in MONOTONIC])
@pytest.mark.parametrize("read", names("read"))
@pytest.mark.parametrize("window", ["global", "local_p"])
def test_a_high_score_of_the_null_slot_leaves_nothing_and_a_low_one_all(
    normalise: str, read: str, window: str
) -> None:
    parts = {"normalise": normalise, "read": read, "window": window}
    config = AttentionConfig.of(score="dot", null_slot=True, **parts)
    config = changed(config, window_size=9)
    _, weights, context = attended(config, 1e4)
    assert (weights < 1e-20).all() and (context.abs() < 1e-20).all()
    _, weights, _ = attended(config, -1e4)
    total = weights.sum(-1)
    assert (total > 0.1).all() and (total < 1 + 1e-5).all()
    if window == "global":
        torch.testing.assert_close(total, torch.ones(2, 3))


@pytest.mark.parametrize("preset", [*FAMILIES, TRANSFORMER])
@torch.no_grad()
def test_a_model_whose_null_slot_has_no_weight_equals_one_without(preset: str) -> None:
    def of(null_slot: bool) -> EncoderDecoder:
        torch.manual_seed(1)
        config = AttentionConfig.of(score="general", null_slot=null_slot)
        return build(configured(preset, config), SIZES).eval()

    without, model = of(False), of(True)
    missing, unknown = model.load_state_dict(without.state_dict(), strict=False)
    assert not unknown and missing and all(name.endswith("null.score") for name in missing)
    features = model.teacher_force(BATCH).features
    for name in missing:
        nn.init.constant_(model.get_parameter(name), -1e4)
    expected = without.teacher_force(BATCH).features
    torch.testing.assert_close(model.teacher_force(BATCH).features, expected)
    assert not torch.allclose(features, expected)
