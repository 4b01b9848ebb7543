"""Looks in every family and mechanism: equalities that a look of a person keeps."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from models.core.errors import ModelError
from models.core.registry import names
from models.core.types import Batch, Looks, Memory, at_steps, select
from models.engines.trained import TrainedModel, check_looks
from models.networks.encoder_decoder import EncoderDecoder
from models.search.steering import Look, Steering
from tests.models.contracts import alone, close
from tests.models.mechanisms import (
    AT_ONCE,
    BATCH,
    MONOTONIC,
    RECURRENT,
    TRANSFORMER,
    combinations,
)
from tests.models.mechanisms import model_of as mechanism_of
from tests.models.rows import TEXTS
from tests.models.rows import batch_of as rows_of
from tests.models.small import TEXT_PRESETS, small_config, small_model
from tests.models.variants import VARIANTS, batch_of, model_of

SEED = torch.initial_seed()


def random_looks(memory: Memory, steps: int, seed: int) -> Looks:
    """Return two looks for each sentence at some of its slots, and the look of each step."""
    random = torch.Generator().manual_seed(seed)
    mask = memory.mask
    slots = torch.rand(len(mask), 3, mask.shape[1], generator=random) < 0.4
    slots[:, 0] = True
    slots = slots & mask[:, None]
    first = torch.nn.functional.one_hot(mask.int().argmax(1), mask.shape[1]).bool()
    slots = slots | (first[:, None] & ~slots.any(2, keepdim=True))
    return Looks(slots, torch.randint(3, (len(mask), steps), generator=random))


def forced(model: EncoderDecoder, batch: Batch, memory: Memory) -> Any:
    return model.teacher_force(batch, memory=memory, want_weights=True)


def check_looking(model: EncoderDecoder, batch: Batch, about: object = "", draw: int = 0) -> bool:
    """Check what looks that a seed draws keep; return True if they change the weights."""
    steps = batch.target_in.shape[1]
    memory = model.encode_batch(batch)
    looks = random_looks(memory, steps, seed=SEED % 1000 + draw)
    assert looks.number is not None
    plain = forced(model, batch, memory)
    none = torch.zeros_like(looks.number)
    every = memory._replace(looks=looks._replace(number=none))
    all_slots = forced(model, batch, every)
    close(all_slots.features, plain.features, about)
    found = forced(model, batch, memory._replace(looks=looks))
    outside = ~looks.slots.gather(1, looks.number[..., None].expand(-1, -1, memory.mask.shape[1]))
    assert (found.weights[outside] == 0).all(), about
    check_stepwise(model, batch, memory._replace(looks=looks), found, about)
    for row in range(len(batch.source)):
        single = alone(batch, row)
        own = model.encode_batch(single)
        real, length = memory.mask[row], single.target_in.shape[1]
        own_looks = Looks(looks.slots[row : row + 1, :, real], looks.number[row : row + 1, :length])
        one = forced(model, single, own._replace(looks=own_looks))
        close(found.features[row, :length], one.features[0], about)
    return not torch.allclose(found.weights, plain.weights, atol=1e-5)


def check_stepwise(
    model: EncoderDecoder, batch: Batch, memory: Memory, found: Any, about: object
) -> None:
    """Compare steps with teacher forcing; two hypotheses of each sentence read one memory."""
    assert memory.looks is not None and memory.looks.number is not None
    rows = torch.arange(len(batch.target_in)).repeat_interleave(2)
    expected, number = model.log_probs(found), memory.looks.number
    prepared, state = model.start(memory._replace(looks=Looks(memory.looks.slots)))
    state = select(state, rows)
    for t in range(number.shape[1]):
        seen = at_steps(prepared, number[rows, t : t + 1])
        step = model.step(batch.target_in[rows, t], state, seen, want_weights=True)
        close(step.log_probs, expected[rows, t], about)
        close(step.weights, found.weights[rows, t], about)
        state = step.state


def steerable(model: EncoderDecoder) -> bool:
    return not model.why_unsteered


@pytest.mark.parametrize("preset", TEXT_PRESETS)
@torch.no_grad()
def test_every_preset_looks_or_says_why_it_cannot(preset: str) -> None:
    model = small_model(preset)
    if steerable(model):
        batch = rows_of(TEXTS) if hasattr(small_config(preset), "inputs") else batch_of(preset)
        # a hard choice may lie inside the looks of one draw
        assert any([check_looking(model, batch, draw=draw) for draw in range(3)])
    else:
        assert not model.decoder.attends or model.config.attention.normalise in MONOTONIC
        refuses(model)


def refuses(model: EncoderDecoder) -> None:
    """Check that a look is refused in one line."""

    class InUse(TrainedModel):
        why_unsteered = model.why_unsteered

    with pytest.raises(ModelError) as error:
        check_looks(InUse(), [Steering(looks=(Look(((0, 1),)),))])
    assert model.why_unsteered in str(error.value) and "\n" not in str(error.value)
    check_looks(InUse(), [Steering("Der ")])


@pytest.mark.parametrize("name", VARIANTS)
@torch.no_grad()
def test_every_variant_looks(name: str) -> None:
    config, batch = VARIANTS[name]
    model = model_of(config)
    if steerable(model):
        check_looking(model, batch, name)
    else:
        assert "seq2seq" in name


KINDS = [*RECURRENT, *itertools.product([TRANSFORMER], AT_ONCE, names("window"))]


@pytest.mark.parametrize(("preset", "score", "window"), KINDS)
@torch.no_grad()
def test_every_mechanism_looks(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window, preset):
        model = mechanism_of(preset, config)
        if config.normalise in MONOTONIC:
            refuses(model)
        else:
            check_looking(model, BATCH, config)


def test_rows_of_a_sentence_are_its_queries() -> None:
    slots = torch.tensor([[[1, 1, 1], [1, 0, 0]], [[1, 1, 1], [0, 1, 0]]]).bool()
    assert Looks(slots).allowed() is None
    found = Looks(slots, torch.tensor([[0], [1], [1], [0]])).allowed()
    assert found is not None and found.int().tolist() == [
        [[1, 1, 1], [1, 0, 0]],
        [[0, 1, 0], [1, 1, 1]],
    ]
