"""The host waits for the device once per step of a search; checked on a processor.

A tensor on the device "meta" has no values: whatever reads one fails, as it would wait on a GPU.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from models.base.types import Memory
from models.config.tables import SearchConfig
from models.families.encoder_decoder import EncoderDecoder
from models.inference.search.beam import beam_search, best, ended, is_done, possible, search
from models.numerics.transfer import to_device
from models.text.tokenizer import FIRST_OUTPUT
from tests.models.small import TEXT_PRESETS, imaged, reads_images, small_model, sources

META = torch.device("meta")
BEAM = 3


class Constants(TorchDispatchMode):
    """Count of the tensors that are made from Python values; on a GPU, each is a copy."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += func.overloadpacket is torch.ops.aten.lift_fresh
        return func(*args, **(kwargs or {}))


def memory_of(preset: str, model: EncoderDecoder) -> Memory:
    ids, mask = sources(6, 5, 4)
    return model.encode(imaged(ids) if reads_images(preset) else ids, mask)


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
    finished = ended(ids, found, truncated, BEAM, 1.0)
    assert is_done(finished.scores, log_probs.amax(1)).is_meta
    state = step.state.select(found.rows[:, :BEAM].flatten())
    tokens = found.tokens[:, :BEAM].flatten()
    assert model.step(tokens, state, prepared).log_probs.shape[0] == 3 * BEAM


@torch.no_grad()
def test_a_longer_search_makes_no_more_tensors_from_python_values() -> None:
    model = copy.deepcopy(small_model("transformer-nano"))
    model.output.bias[FIRST_OUTPUT] = -1000  # no output ends before its limit
    memory, counts = memory_of("transformer-nano", model), []
    for limit in (4, 9):
        with Constants() as constants:
            found = search(model, memory, [limit] * 3, [""] * 3, SearchConfig(beam=BEAM))
        assert {len(best[0].ids) for best in found} == {limit - 1}
        counts.append(constants.count)
    assert counts[0] == counts[1]


@torch.no_grad()
def test_the_host_reads_one_list_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    model = copy.deepcopy(small_model("rnnsearch-nano"))
    model.output.bias[FIRST_OUTPUT] = -1000
    memory, tolist = memory_of("rnnsearch-nano", model), Tensor.tolist
    read: list[torch.dtype] = []

    def recorded(one: Tensor) -> Any:
        read.append(one.dtype)
        return tolist(one)

    monkeypatch.setattr(Tensor, "tolist", recorded)
    beam_search(model, memory, [9] * 3, BEAM, SearchConfig())
    at_the_end = 4  # parts of the finished hypotheses
    assert len(read) == 9 + at_the_end


def test_a_copy_to_a_gpu_starts_from_pinned_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def pin_memory(one: Tensor) -> Tensor:
        calls.append("pinned")
        return one

    def to(one: Tensor, device: torch.device, **options: bool) -> Tensor:
        calls.append((device.type, options))
        return one

    monkeypatch.setattr(Tensor, "pin_memory", pin_memory)
    monkeypatch.setattr(Tensor, "to", to)
    to_device(torch.zeros(2), torch.device("cuda"))
    to_device(torch.zeros(2), torch.device("cpu"))
    assert calls == ["pinned", ("cuda", {"non_blocking": True}), ("cpu", {})]
