"""Every mechanism of attention reads sound, with steps equal to teacher forcing."""

from __future__ import annotations

import dataclasses

import pytest
import torch

from models.core.registry import names
from models.core.types import VocabularySizes
from models.speech._encoder import side_by_side
from tests.models.contracts import check_steps
from tests.models.mechanisms import combinations
from tests.models.small import (
    VOCABULARY,
    pairs,
    random_model,
    small_config,
    small_model,
    sounded,
)

PRESET = "listen-attend-spell-nano"
BATCH = sounded(pairs([4, 7, 2], [5, 3, 6]))


@pytest.mark.parametrize("window", names("window"))
@pytest.mark.parametrize("score", names("score"))
@torch.no_grad()
def test_every_mechanism_reads_sound(score: str, window: str) -> None:
    for config in combinations(score, window):
        changed = dataclasses.replace(small_config(PRESET), attention=config)
        model = random_model(changed, VocabularySizes(0, VOCABULARY, False), noise=0.1)
        check_steps(model, BATCH, config)


def test_pairs_of_slots_are_side_by_side() -> None:
    x, mask = torch.arange(10.0).view(1, 5, 2), torch.ones(1, 5, dtype=torch.bool)
    found, real = side_by_side(x, mask, 2)
    assert found.tolist() == [[[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 0, 0]]]
    assert real.tolist() == [[True, True, True]]


@pytest.mark.parametrize("preset", [PRESET, "speech-transformer-nano"])
def test_slots_are_as_many_as_the_encoder_says(preset: str) -> None:
    model = small_model(preset)
    for frames in (1, 2, 5, 6, 7, 13, 48):
        source = torch.randn(1, frames, model.config.audio.bands)
        memory = model.encode(source, torch.ones(1, frames, dtype=torch.bool))
        assert memory.mask.shape[1] == model.encoder.slots(frames)  # type: ignore[operator]
