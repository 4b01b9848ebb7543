"""`model(batch)` is teacher forcing, also compiled, in several processes and under hooks."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest
import torch

from models.alignment import token_attention
from models.core.registry import source_name
from models.core.types import Batch
from models.engines.translator import Translator
from models.search.batching import teacher_forcing_batch
from models.storage.presets import model_config
from tests.models.small import TEXT_PRESETS, one_of_each_family, small_model, sources

PRESETS = one_of_each_family(
    name for name in TEXT_PRESETS if source_name(model_config(name).family) == "text"
)


def batch_of(preset: str) -> Batch:
    return teacher_forcing_batch(*sources(6, 4, seed=2), *sources(5, 3, seed=3))


@pytest.mark.parametrize("preset", PRESETS)
def test_forward_gives_the_probabilities_of_teacher_forcing(preset: str) -> None:
    model, batch = small_model(preset), batch_of(preset)
    calls: list[torch.Tensor] = []
    hook = model.register_forward_hook(lambda module, given, found: calls.append(found))
    found = model(batch)  # (B, T, Y)
    hook.remove()
    assert calls[0] is found
    torch.testing.assert_close(found.exp().sum(-1), torch.ones(2, 5))
    own = found.gather(-1, batch.target_out[..., None])[..., 0]
    torch.testing.assert_close(own, model.target_log_probs(batch))


def test_a_compiled_model_gives_the_same() -> None:
    model, batch = small_model("transformer-nano"), batch_of("transformer-nano")
    compiled = torch.compile(model, backend="eager")
    torch.testing.assert_close(compiled(batch), model(batch))


def test_every_head_of_a_batch_in_one_call(tiny_translator: Translator) -> None:
    pairs = [("the dog", "der Hund sieht"), ("a red house", "ein Haus")]
    found = token_attention(tiny_translator, pairs)
    layers, heads = tiny_translator.model.decoder.attention_shape
    longest = [max(map(len, side)) for side in (found.target, found.source)]
    assert found.weights.shape == (2, layers, heads, *longest)
    for number, pair in enumerate(pairs):
        [alone] = [token_attention(tiny_translator, [pair])]
        shown = found.bertviz(number)
        assert shown["decoder_tokens"] == list(alone.target[0]) and alone.target[0][-1] == "</s>"
        assert "".join(shown["encoder_tokens"][:-1]).replace("▁", " ").strip() == pair[0]
        for layer, own in zip(shown["cross_attention"], alone.weights[0], strict=True):
            torch.testing.assert_close(layer[0], own, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(layer.sum(-1), torch.ones(layer.shape[:-1]))


PARITY = runpy.run_path(str(Path(__file__).parents[2] / "benchmarks/parity.py"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("row", PARITY["ROWS"], ids=lambda row: f"{row.member}-{row.package}")
def test_a_member_equals_a_public_implementation(row: Any) -> None:
    pytest.importorskip(row.package)
    assert PARITY["difference"](row) < 1e-5
