"""A model that is divided among processes: gradients, parts, and the whole again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch
from torch import Tensor

from attncli.training.distributed.divided_model import (
    gathered_bytes,
    parameter_bytes,
    units,
    whole,
)
from attncli.training.distributed.divided_state import DividedState
from attncli.training.distributed.order import STATE, WEIGHTS
from attncli.training.distributed.settings import divided
from attncli.training.distributed.world import ProcessGroup
from attncli.training.run.configuration import run_config
from attncli.training.settings.config import RunConfig
from attncli.training.storage.state import State
from attncli.training.updates.stepper import Stepper
from models.base.errors import ConfigurationError
from models.base.types import Batch, VocabularySizes
from models.bundle import build
from tests.attncli.training.processes import group_of

SIZES = VocabularySizes(30, 30, True)
SMALL = ("model.embedding=8", "model.hidden=8", "model.heads=2", "model.dropout=0.0")
CPU = torch.device("cpu")
FAMILIES = {
    "transformer": ("transformer-nano", ["model.alignment_layer=true"]),
    "r-drop": ("transformer-nano", ["train.r_drop=1"]),
    "onednn": ("transformer-nano", ["train.products=onednn"]),
    "bf16": ("transformer-nano", ["train.precision=bf16"]),
    "rnnsearch": ("rnnsearch-nano", ["model.attention.heads=1"]),
    "luong": ("luong-nano", ["train.optimiser=rmsprop"]),
    "classifier": ("classifier-transformer-small", ["train.optimiser=adamw"]),
}

posix = pytest.mark.skipif(os.name != "posix", reason="fork")


def configured(name: str) -> RunConfig:
    """Return the settings of a minute model of a family."""
    preset, changes = FAMILIES[name]
    return run_config(preset, {}, [*SMALL, *changes])


def state_of(config: RunConfig) -> State:
    """Return a state with random weights."""
    torch.manual_seed(1)
    return State(build(config.model, SIZES), config.train)


def batch_of(number: int, labels: bool) -> Batch:
    """Return random examples."""
    rng = torch.Generator().manual_seed(number)
    length = 1 if labels else 3 + number
    source = torch.randint(4, 30, (3, 4), generator=rng)
    target_in, target_out = torch.randint(4, 30, (2, 3, length), generator=rng)
    masks = [torch.ones_like(ids, dtype=torch.bool) for ids in (source, target_in)]
    return Batch(source, masks[0], target_in, target_out, masks[1])


def dtype_of(config: RunConfig) -> torch.dtype:
    """Return the type of matrix products."""
    return torch.bfloat16 if config.train.precision == "bf16" else torch.float32


def add_gradients(state: State, config: RunConfig, numbers: list[int]) -> dict[str, Tensor]:
    """Add the gradients of some batches; return them."""
    stepper = Stepper(state, config.train, dtype_of(config))
    for number in numbers:
        stepper.gradients(batch_of(number, "classifier" in config.preset), 1.0)
    return {n: torch.zeros_like(p) if p.grad is None else p.grad for n, p in state.learned.items()}


@posix
def test_gradients_are_those_of_the_undivided_model(tmp_path: Path) -> None:
    def work(world: ProcessGroup) -> None:
        for name in FAMILIES:
            config = configured(name)
            expected = add_gradients(state_of(config), config, [0, 1, 2])
            state = DividedState(state_of(config), config.train, world, CPU, dtype_of(config))
            found = add_gradients(state, config, [world.number])
            for parameter, gradient in found.items():
                close = torch.allclose(whole(gradient), expected[parameter], atol=1e-5, rtol=1e-4)
                assert close, f"{name}: {parameter}"

    group_of(3, work, tmp_path / "errors")


@posix
def test_a_state_is_divided_and_gathered_again(tmp_path: Path) -> None:
    config = run_config("transformer-nano", {}, [*SMALL, "train.ema=0.9"])
    process_0 = state_of(config)
    stepper = Stepper(process_0, config.train, torch.float32)
    stepper.update([batch_of(1, labels=False)], 0.0)
    expected = {name: tensor.clone() for name, tensor in process_0.tensors().items()}
    weights, batch = process_0.weights(), batch_of(0, labels=False)
    with process_0.evaluated() as whole_model:
        features = whole_model.teacher_force(batch).features
    total = sum(tensor.numel() for tensor in expected.values() if tensor.dim())

    def work(world: ProcessGroup) -> None:
        given = process_0 if world.number == 0 else state_of(config)
        state = DividedState(given, config.train, world, CPU, torch.float32)
        held = [t.to_local() for t in State.tensors(state).values() if t.dim()]  # type: ignore[attr-defined]
        assert sum(tensor.numel() for tensor in held) < 0.55 * total
        assert not any(parameter.numel() for parameter in state.undivided_model.parameters())
        if world.number:
            assert world.receive().kind == STATE
        found = state.tensors()
        assert found.keys() == (expected.keys() if world.number == 0 else set())
        assert all(torch.equal(found[name], expected[name]) for name in found)
        if world.number:
            assert world.receive().kind == WEIGHTS
        gathered = state.weights()
        with state.with_weights(gathered) as model:
            values = dict(model.named_parameters())
            assert all(torch.equal(values[name], weights[name]) for name in weights)
            assert torch.equal(model.teacher_force(batch).features, features)

    group_of(2, work, tmp_path / "errors")


def test_only_blocks_are_gathered_one_by_one() -> None:
    model = state_of(configured("transformer")).model
    layers = model.config.encoder_layers + model.config.decoder_layers
    assert len(list(units(model))) == 2 * layers + model.config.decoder_layers
    assert gathered_bytes(model) < 2 * parameter_bytes(model)
    recurrent = state_of(configured("rnnsearch")).model
    assert not list(units(recurrent))
    assert gathered_bytes(recurrent) == 2 * parameter_bytes(recurrent)


@pytest.mark.parametrize("name", ["self_critical_from", "encoder_from"])
def test_what_a_divided_model_cannot_do_is_refused(name: str) -> None:
    change = f"train.{name}=3"
    config = run_config("show-attend-tell-soft-nano", {}, [change, "train.shard_model=true"])
    with pytest.raises(ConfigurationError, match=f"train.{name}=3 with train.shard_model"):
        divided(config, 2)
    divided(run_config("show-attend-tell-soft-nano", {}, [change]), 2)
