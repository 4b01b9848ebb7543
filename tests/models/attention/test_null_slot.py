"""A null slot takes weight, adds nothing to the context, and can be switched off."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from models.attention.base import Attention
from models.base.registry import names
from models.base.settings import from_dict
from models.base.types import Memory
from models.bundle import build
from models.config import AttentionConfig
from models.families.encoder_decoder import EncoderDecoder
from tests.models.mechanisms import BATCH, FAMILIES, MONOTONIC, SIZES, TRANSFORMER, configured

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
def test_weights_equal_the_published_softmax_with_one_more_term() -> None:
    for null in (0.0, 1.5):  # 0: 1 is added to the denominator, eq. 2
        scores, weights, _ = attended(AttentionConfig(score="dot", null_slot=True), null)
        for b, length in enumerate(MASK.sum(1).tolist()):
            for t in range(3):
                powers = [math.exp(score) for score in scores[b, t, :length].tolist()]
                expected = [power / (math.exp(null) + sum(powers)) for power in powers]
                assert weights[b, t, :length].tolist() == pytest.approx(expected, abs=1e-6)
        assert (weights[~MASK[:, None].expand(2, 3, 5)] == 0).all()


@torch.no_grad()
@pytest.mark.parametrize("normalise", [n for n in names("normalise") if n not in MONOTONIC])
@pytest.mark.parametrize("read", names("read"))
@pytest.mark.parametrize("window", ["global", "local_p"])
def test_a_high_score_of_the_null_slot_leaves_nothing_and_a_low_one_all(
    normalise: str, read: str, window: str
) -> None:
    parts = {"normalise": normalise, "read": read, "window": window, "window_size": 9}
    config = from_dict(AttentionConfig, {"score": "dot", "null_slot": True, **parts})
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
        config = AttentionConfig(score="general", null_slot=null_slot)
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
