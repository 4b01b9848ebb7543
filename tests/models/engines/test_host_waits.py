"""The host waits for the device once per step of a search; checked on a processor.

A tensor on the device "meta" has no values: whatever reads one fails, as it would wait on a GPU.
"""

from __future__ import annotations

import contextlib
import copy

import pytest
import torch
from torch import Tensor

from models.core.types import Memory, select
from models.core.use_config import SearchConfig
from models.networks.encoder_decoder import EncoderDecoder
from models.search.beam import best, ended, is_done, possible
from tests.models.small import TEXT_PRESETS, hears, imaged, reads_images, small_model, sources

META = torch.device("meta")
BEAM = 3


def memory_of(preset: str, model: EncoderDecoder) -> Memory:
    ids, mask = sources(6, 5, 4)
    return model.encode(imaged(ids) if reads_images(preset) or hears(preset) else ids, mask)


@pytest.fixture(autouse=True)
def no_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Switch off autocast, which does not know the device meta."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda *_: False)
    monkeypatch.setattr(torch, "autocast", lambda *_, **__: contextlib.nullcontext())


@pytest.mark.parametrize("preset", TEXT_PRESETS)
@torch.no_grad()
def test_a_step_of_a_search_reads_no_value(preset: str) -> None:
    model = small_model(preset)
    encoded = memory_of(preset, model)
    parts = (part.to(META) if isinstance(part, Tensor) else part for part in encoded)
    memory = Memory._make(parts)
    model = copy.deepcopy(model).to(META)
    prepared, state = model.start(memory)
    log_probs, ids = (
        torch.zeros(3, 1, device=META),
        torch.zeros(3, 1, 1, dtype=torch.long, device=META),
    )
    step = model.step(ids.flatten(), state, prepared)
    of_tokens, truncated = possible(step.log_probs, [False] * 3)
    found = best(log_probs, of_tokens, 2 * BEAM)
    finished = ended(ids, found, truncated, BEAM, SearchConfig())
    assert is_done(finished.scores, log_probs.amax(1)).is_meta
    state = select(step.state, found.rows[:, :BEAM].flatten())
    tokens = found.tokens[:, :BEAM].flatten()
    assert model.step(tokens, state, prepared).log_probs.shape[0] == 3 * BEAM
