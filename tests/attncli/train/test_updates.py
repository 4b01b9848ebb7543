"""Updates: optimisers, precision, and what the attention adds to the loss."""

from __future__ import annotations

import dataclasses
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from attncli.train import _precision as precision
from attncli.train._optimisers import OPTIMISERS, optimiser
from attncli.train._precision import chosen_precision
from attncli.train._state import State
from attncli.train._stepper import Stepper, UpdateBatch
from attncli.train.configuration import run_config
from attncli.train.events import Interrupted, Started
from attncli.train.folder import RunFolder, read_config
from attncli.training.config import RunConfig, TrainConfig
from models.core.attention_config import AttentionConfig, AttentionLossConfig
from models.core.config import ModelConfig
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import pretrained_encoder
from models.storage.presets import PRESETS, model_config
from tests.attncli.training.small import after, outcome, run, small_config, write_texts
from tests.models import small as models_of_tests
from tests.models.small import one_of_each_family

RATE = 0.01


def built(preset: str, *, pretrained: bool = False) -> EncoderDecoder:
    """Return a new model with a gradient of normal numbers, the same each time.

    pretrained: its image network counts as pretrained, and has a matrix too.
    """
    torch.manual_seed(1)
    config = model_config(preset)
    if pretrained:
        config = replace(config, image=replace(config.image, weights="DEFAULT"))
    model = build(config, VocabularySizes(50, 50, True))
    if encoder := pretrained_encoder(model):
        encoder.body.matrix = nn.Linear(3, 4)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return model


def updates(model: EncoderDecoder, config: TrainConfig) -> dict[str, Tensor]:
    """Update a model once; return what was subtracted from each parameter."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    found = optimiser(model, model.parameters(), config)
    for group in found.param_groups:
        group["lr"] = config.lr * group["share"]
    found.step()
    return {name: before[name] - p.detach() for name, p in model.named_parameters()}


@pytest.mark.parametrize("preset", one_of_each_family(PRESETS))
def test_muon_makes_updates_of_hidden_matrices_orthogonal_and_leaves_the_rest_to_adam(
    preset: str,
) -> None:
    adam, muon = (
        updates(built(preset), TrainConfig(lr=RATE, optimiser=name)) for name in ("adam", "muon")
    )
    by_muon = {name for name in adam if not torch.equal(adam[name], muon[name])}
    assert by_muon and not any(is_outer(name) for name in by_muon)
    for name in adam.keys() - by_muon:
        shape = adam[name].shape
        assert len(shape) != 2 or min(shape) == 1 or is_outer(name), name
    for name in by_muon:
        size = RATE * 0.2 * max(muon[name].shape) ** 0.5
        singular = torch.linalg.svdvals(muon[name]) / size
        assert singular.median() > 0.6 and singular.max() < 1.3, name


def is_outer(name: str) -> bool:
    """Return True for the weights of an embedding or of the output layer."""
    return name == "output.weight" or name.endswith("embedding.weight")


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_pretrained_image_network_has_its_own_learning_rate(name: str) -> None:
    fast, slow = (
        updates(
            built("show-attend-tell-soft-nano", pretrained=True),
            TrainConfig(lr=RATE, optimiser=name, encoder_lr=RATE / 10, encoder_from=start),
        )
        for start in (0, 1)
    )
    for key, update in fast.items():
        share = 0.1 if key.startswith("encoder.body.") else 1.0
        assert torch.allclose(slow[key], share * update, rtol=1e-3, atol=1e-7), key


CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every device compute bf16."""
    monkeypatch.setattr(precision, "computes_bf16", lambda device: True)


def tables(preset: str, *changes: str) -> tuple[ModelConfig, TrainConfig]:
    """Return the settings of a preset's model and training."""
    config = run_config(preset, assignments=changes)
    return config.model, config.train


@pytest.mark.parametrize(
    ("preset", "changes", "expected"),
    [
        ("transformer-nano", [], "bf16"),
        ("transformer-nano", ["train.batch_tokens=512"], "fp32"),
        ("transformer-nano", ["train.shards=4"], "fp32"),
        ("rnnsearch-nano", [], "fp32"),
        ("rnnsearch-nano", ["train.precision=bf16"], "bf16"),
        ("rnnsearch-small", [], "bf16"),
        ("transformer-base", ["train.precision=fp32"], "fp32"),
    ],
)
def test_a_processor_computes_large_products_in_bf16(
    preset: str, changes: list[str], expected: str
) -> None:
    assert chosen_precision(*tables(preset, *changes), CPU) == expected


def test_the_capability_of_a_gpu_says_what_it_computes_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    for major, expected in {6: "fp32", 7: "fp16", 8: "bf16", 9: "bf16", 12: "bf16"}.items():
        found = SimpleNamespace(major=major, minor=5)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device, found=found: found)
        for preset in ("rnnsearch-nano", "transformer-base"):
            assert chosen_precision(*tables(preset), GPU) == expected
            assert chosen_precision(*tables(preset, "train.precision=fp32"), GPU) == "fp32"
    assert chosen_precision(*tables("transformer-base"), torch.device("mps")) == "fp32"
    monkeypatch.setattr(precision, "computes_bf16", lambda device: False)
    assert chosen_precision(*tables("transformer-base"), CPU) == "fp32"


def few(config: RunConfig) -> RunConfig:
    return replace(config, train=replace(config.train, steps=4, evaluate_every=4))


def test_automatic_precision_is_chosen_once_and_kept_by_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = write_texts(tmp_path)
    run(few(small_config(texts, "train.precision=bf16")), tmp_path / "fixed")
    monkeypatch.setattr(precision, "LARGE", 0)
    config = few(small_config(texts))
    with pytest.raises(Interrupted):
        run(config, tmp_path / "auto", after(2))
    assert read_config(RunFolder(tmp_path / "auto")).train.precision == "bf16"
    monkeypatch.setattr(precision, "computes_bf16", lambda device: False)  # another machine
    events = run(config, tmp_path / "auto")
    assert isinstance(events[0], Started) and events[0].precision == "bf16"
    found, expected = outcome(tmp_path / "auto"), outcome(tmp_path / "fixed")
    for part in ("counters", "bundle", "checkpoint"):
        assert found[part] == expected[part]


BATCH = models_of_tests.pairs([4, 7, 2], [5, 3, 6])
EXAMPLES: Any = SimpleNamespace(batch=lambda numbers: BATCH, shared=None)
UPDATE = UpdateBatch(EXAMPLES, np.arange(3))


def fresh(attention: AttentionConfig, loss: AttentionLossConfig) -> tuple[State, Stepper]:
    torch.manual_seed(1)
    config = TrainConfig(lr=0.01, warmup=1, schedule="constant", label_smoothing=0, attention=loss)
    model = dataclasses.replace(models_of_tests.small_config("rnnsearch-nano"), attention=attention)
    sizes = VocabularySizes(models_of_tests.VOCABULARY, models_of_tests.VOCABULARY, True)
    state = State(build(model, sizes), config)
    return state, Stepper(state, config, torch.float32)


def test_hard_attention_learns_and_its_baseline_follows() -> None:
    state, stepper = fresh(AttentionConfig.of(read="hard"), AttentionLossConfig())
    energy = state.model.get_parameter("decoder.attention.score.energy")
    before = energy.detach().clone()
    steps = [stepper.train_on(UPDATE, 0.0) for _ in range(60)]
    assert steps[-1].nll < steps[0].nll / 3 and not torch.equal(before, energy)
    assert state.counters.baseline is not None
    assert -steps[0].nll < state.counters.baseline < 0


def test_the_baseline_decays_once_per_update() -> None:
    state, stepper = fresh(AttentionConfig.of(read="hard"), AttentionLossConfig())
    state.counters.baseline = 7.0
    step = stepper.train_on(UPDATE, 0.0)
    assert state.counters.baseline == pytest.approx(0.9 * 7 - 0.1 * step.nll, rel=1e-5)
