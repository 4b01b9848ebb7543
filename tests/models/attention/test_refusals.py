"""Combinations that make no sense are refused in one line."""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from models.core.config import AttentionConfig, AttentionLossConfig
from models.core.errors import ModelError
from models.core.registry import names
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.losses import AttentionLoss
from tests.models.mechanisms import FAMILIES, SIZES, TRANSFORMER, hard_model, refused
from tests.models.small import VOCABULARY, reads_images, small_config

PARTS = ("score", "window", "normalise", "read")


@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"heads": 3}, ["3 attention heads", "16"]),
        ({"heads": 0}, ["0 attention heads"]),
        ({"window": "local_p", "window_size": 0}, ["window_size = 0", "at least 1"]),
        ({"window": "local_m", "window_size": 0}, ["window_size = 0", "at least 1"]),
        ({"read": "hard", "read_decode": "best"}, ["'best'", "argmax"]),
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


def pairs_of_parts() -> Iterator[dict[str, Any]]:
    """Yield each pair of parts of two kinds, beside the default parts."""
    for first, second in itertools.combinations(PARTS, 2):
        for pair in itertools.product(names(first), names(second)):
            yield dict(zip((first, second), pair, strict=True))


@pytest.mark.parametrize(
    ("preset", "table"),
    [
        *((preset, "attention") for preset in (*FAMILIES, TRANSFORMER)),
        (TRANSFORMER, "self_attention"),
        ("adaptive-nano", "attention"),
        ("multi-source-nano", "attention"),
    ],
)
def test_following_the_refusals_of_a_combination_leads_to_one_that_works(
    preset: str, table: str
) -> None:
    config = small_config(preset)
    if preset == "multi-source-nano":
        config = dataclasses.replace(config, inputs=("source", "draft"))
    sizes = VocabularySizes(0, VOCABULARY, False) if reads_images(preset) else SIZES
    config = dataclasses.replace(config, encoder_layers=1, decoder_layers=1)
    for parts in pairs_of_parts():
        own, built = AttentionConfig(**parts), False
        while not built:
            tables: dict[str, Any] = {table: own}
            try:
                build(dataclasses.replace(config, **tables), sizes)
                built = True
            except ModelError as error:
                mended = re.match(rf"model\.{table}\.(\w+)=(\w+)", error.expected)
                assert mended, error
                assert getattr(own, mended[1]) != mended[2]
                nearest: dict[str, Any] = {mended[1]: mended[2]}
                own = dataclasses.replace(own, **nearest)


def test_penalties_that_have_nothing_to_hold_are_refused() -> None:
    see = AttentionLossConfig(coverage="see")
    without = build(small_config("seq2seq-nano"), SIZES)
    refused(lambda: AttentionLoss(see, without), "without soft attention")
    refused(lambda: AttentionLoss(see, hard_model("luong-nano")), "read 'soft'")
    unknown = AttentionLossConfig(coverage="sea")
    refused(lambda: AttentionLoss(unknown, without), "'sea'", "did you mean see")
