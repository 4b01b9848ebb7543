"""A pointer-generator and CopyNet equal their equations and copy source tokens in every family."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from models.core.registry import names
from models.core.types import Memory
from models.networks.bundle import build
from models.networks.decoder import DecoderOutput
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import sequence_loss
from models.networks.readers import CopyNet, Pointer
from tests.models.mechanisms import BATCH as RANDOM
from tests.models.mechanisms import FAMILIES, SIZES, TRANSFORMER
from tests.models.small import random_model, small_config

BATCH = RANDOM._replace(  # half of the tokens that are read are copies
    target_in=torch.cat([RANDOM.target_in[:, :3], RANDOM.source[:, :3]], 1)
)
every_preset = pytest.mark.parametrize("preset", [*FAMILIES, TRANSFORMER])
every_kind = pytest.mark.parametrize("kind", names("copy"))


def config(preset: str, kind: str = "pointer") -> Any:
    """Return settings that copy, with attention whose weights can sum to less than 1."""
    found = small_config(preset)
    return replace(found, copy=kind, attention=replace(found.attention, null_slot=True))


@cache
def model(preset: str, kind: str) -> EncoderDecoder:
    """Return a model with random weights. Not to be changed."""
    return random_model(config(preset, kind), SIZES)


def sigmoid(x: Tensor) -> float:
    return float(1 / (1 + (-x).exp()))


@torch.no_grad()
def test_the_mixture_equals_the_published_equation_in_plain_loops() -> None:
    torch.manual_seed(1)
    pointer, embedding, logits = Pointer(4, 6), torch.randn(9, 4), torch.randn(2, 3, 9)
    torch.nn.init.normal_(pointer.gate.weight)
    ids, values = torch.tensor([[5, 7, 5, 3], [8, 4, 3, 0]]), torch.randn(2, 4, 6)
    weights = torch.randn(2, 3, 4).softmax(-1)
    weights[1, :, 3] = 0
    weights[1] /= weights[1].sum(-1, keepdim=True)
    weights[:, 2] *= 0.6  # as with a null slot
    features, tokens = torch.randn(2, 3, 4), torch.tensor([[2, 5, 8], [2, 4, 4]])
    prepared = pointer.prepare(Memory(values, ids > 0, ids=ids), embedding)
    advanced = DecoderOutput(features, None, weights)
    _, copying, _ = pointer(advanced, tokens, None, prepared, embedding)
    found = copying.mixed(logits).exp()
    w_c, w_s, w_x = pointer.gate.weight[0].split([6, 4, 4])
    for b in range(2):
        for t in range(3):
            context = sum(weights[b, t, i] * values[b, i] for i in range(4))
            inputs = w_c @ context + w_s @ features[b, t] + w_x @ embedding[tokens[b, t]]
            generate = sigmoid(inputs + pointer.gate.bias[0])
            for y in range(9):
                copied = sum(float(weights[b, t, i]) for i in range(4) if ids[b, i] == y)
                own = float(logits[b, t].softmax(0)[y])
                rest = 1 - (1 - generate) * float(weights[b, t].sum())  # generate, for a sum of 1
                expected = rest * own + (1 - generate) * copied
                assert float(found[b, t, y]) == pytest.approx(expected, abs=1e-6)


@torch.no_grad()
def test_the_joint_softmax_equals_the_published_equation_in_plain_loops() -> None:
    torch.manual_seed(1)
    copynet, embedding, logits = CopyNet(4, 6), torch.randn(9, 4), torch.randn(2, 3, 9)
    ids, values = torch.tensor([[5, 7, 5, 3], [8, 4, 3, 0]]), torch.randn(2, 4, 6)
    features, tokens = torch.randn(2, 3, 4), torch.tensor([[2, 5, 8], [2, 4, 4]])
    prepared = copynet.prepare(Memory(values, ids > 0, ids=ids), embedding)
    _, copying, _ = copynet(DecoderOutput(features, None, None), tokens, None, prepared, embedding)
    found = copying.mixed(logits).exp()
    for b in range(2):
        slots = [j for j in range(4) if ids[b, j] > 0]
        for t in range(3):
            generate = [math.exp(logits[b, t, y]) for y in range(9)]
            copy = {}
            for j in slots:
                key = [math.tanh(values[b, j] @ copynet.key.weight[d]) for d in range(4)]
                copy[j] = math.exp(sum(key[d] * float(features[b, t, d]) for d in range(4)))
            total = sum(generate) + sum(copy.values())
            for y in range(9):
                copied = sum(copy[j] for j in slots if ids[b, j] == y)
                expected = (generate[y] + copied) / total
                assert float(found[b, t, y]) == pytest.approx(expected, abs=1e-6)


@every_preset
@every_kind
def test_the_loss_is_the_negative_logarithm_and_reaches_the_reader(preset: str, kind: str) -> None:
    made = build(config(preset, kind), SIZES)
    made.load_state_dict(model(preset, kind).state_dict())
    forced = made.teacher_force(BATCH)
    found = sequence_loss(forced, BATCH, made.output)
    chosen = made.log_probs(forced).gather(-1, BATCH.target_out[..., None]).squeeze(-1)
    torch.testing.assert_close(found.nll, -chosen[BATCH.target_mask])
    found.loss.backward()
    assert made.reader is not None
    for name, parameter in made.reader.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name
