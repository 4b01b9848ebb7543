"""Combinations that make no sense are refused in one line."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from models.bundle import build
from models.config.tables import AttentionConfig, AttentionLossConfig
from models.losses.losses import AttentionLoss
from tests.models.mechanisms import (
    FAMILIES,
    SIZES,
    hard_model,
    refused,
)
from tests.models.small import small_config


@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"heads": 3}, ["3 attention heads", "16"]),
        ({"heads": 0}, ["0 attention heads"]),
        ({"score": "location", "positions": 100}, ["100 slots", "512", "positions"]),
        ({"score": "location_aware", "filter_width": 4}, ["width 4", "odd"]),
        ({"score": "ffn", "depth": 0}, ["depth = 0", "at least 1"]),
        ({"window": "local_p", "window_size": 0}, ["window_size = 0", "at least 1"]),
        ({"window": "local_m", "window_size": 0}, ["window_size = 0", "at least 1"]),
        ({"read": "hard", "read_decode": "best"}, ["'best'", "argmax"]),
        ({"read": "hard", "read_soft": 1.0}, ["read_soft", "below 1"]),
        *(
            ({"score": score, "coverage": True}, [score, "additive", "see"])
            for score in ("dot", "general", "cosine", "location", "ffn", "scaled_dot")
        ),
    ],
)
def test_what_cannot_work_is_refused_at_construction(
    preset: str, settings: dict[str, Any], facts: list[str]
) -> None:
    config = dataclasses.replace(small_config(preset), attention=AttentionConfig(**settings))
    refused(lambda: build(config, SIZES), *facts)


def test_penalties_that_have_nothing_to_hold_are_refused() -> None:
    see = AttentionLossConfig(coverage="see")
    without = build(small_config("seq2seq-nano"), SIZES)
    refused(lambda: AttentionLoss(see, without), "without attention")
    refused(lambda: AttentionLoss(see, hard_model("luong-nano")), "read 'hard'", "soft")
    unknown = AttentionLossConfig(coverage="sea")
    refused(lambda: AttentionLoss(unknown, without), "'sea'", "did you mean see")
