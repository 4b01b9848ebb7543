"""Equalities that every model keeps: of steps, of rows alone, of what is stored, of gradients."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.core.settings import from_dict, to_dict
from models.core.sources import vocabulary_sizes
from models.core.types import Batch, select
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.storage.weights import fill, weights_of
from tests.models.mechanisms import always_sampled, unsharpened
from tests.models.small import FIRST_WORD

CLOSE: dict[str, Any] = {"atol": 1e-4, "rtol": 1e-4}


def check(model: EncoderDecoder, batch: Batch, about: object = "") -> None:
    """Check every equality of a model with random weights, and that training reaches them."""
    with torch.no_grad():
        check_steps(model, batch, about)
        check_alone(model, batch, about)
        check_stored(model, batch, about)
    check_gradients(model, batch, about)


def close(one: Tensor | None, other: Tensor | None, about: object = "") -> None:
    """Assert that tensors are nearly equal; or that there are none."""
    assert (one is None) is (other is None), about
    if one is not None:
        torch.testing.assert_close(one, other, **CLOSE, msg=lambda text: f"{about}\n{text}")


def check_steps(model: EncoderDecoder, batch: Batch, about: object = "") -> None:
    """Compare steps with teacher forcing.

    Two different hypotheses of each sentence read one memory, and change places after each step.
    """
    rows = torch.arange(len(batch.target_in)).repeat_interleave(2)
    first = batch.target_in[:, :1]
    others = torch.cat([first, batch.target_in[:, 1:].flip(0).clamp_min(FIRST_WORD)], 1)
    targets = torch.stack([batch.target_in, others], 1).flatten(0, 1)  # (2 B, T)
    forced = model.teacher_force(
        batch.map(lambda part: part[rows])._replace(target_in=targets), want_weights=True
    )
    expected = model.log_probs(forced)
    prepared, state = model.start(model.encode_batch(batch))
    state, places = select(state, rows), torch.arange(len(rows))
    for t in range(targets.shape[1]):
        step = model.step(targets[places, t], state, prepared, want_weights=True)
        close(step.log_probs, expected[places, t], about)
        close(step.weights, None if forced.weights is None else forced.weights[places, t], about)
        swapped = places.view(-1, 2).flip(1).flatten()
        moved = torch.arange(len(rows)).view(-1, 2).flip(1).flatten()
        state, places = select(step.state, moved), swapped


def alone(batch: Batch, row: int) -> Batch:
    """Return one pair of a batch, without its padding."""
    slots, steps = int(batch.source_mask[row].sum()), int(batch.target_mask[row].sum())
    one = batch.map(lambda part: part[row : row + 1])
    source = {name: getattr(one, name)[:, :slots] for name in ("source", "source_mask")}
    sides = ("target_in", "target_out", "target_mask")
    return one._replace(**source, **{name: getattr(one, name)[:, :steps] for name in sides})


def check_alone(model: EncoderDecoder, batch: Batch, about: object = "") -> None:
    """Compare each row of a batch with the same row alone, without padding."""
    memory = model.encode_batch(batch)
    forced = model.teacher_force(batch, want_weights=True, want_heads=heads_of(model))
    for row in range(len(batch.source)):
        single, real = alone(batch, row), memory.mask[row]
        own = model.encode_batch(single)
        close(memory.values[row, real], own.values[0, own.mask[0]], about)
        if memory.final is not None and own.final is not None:
            close(memory.final[row], own.final[0], about)
        found = model.teacher_force(single, want_weights=True, want_heads=heads_of(model))
        length = single.target_in.shape[1]
        close(forced.features[row, :length], found.features[0], about)
        for one, other in ((forced.weights, found.weights), (forced.heads, found.heads)):
            if one is not None and other is not None:
                close(one[row, ..., :length, :][..., real], other[0][..., own.mask[0]], about)
                assert (one[row, ..., ~real] == 0).all(), about


def heads_of(model: EncoderDecoder) -> Sequence[int]:
    """Return the layers whose heads can be wanted."""
    return range(model.decoder.attention_shape[0]) if model.decoder.attends else ()


def check_stored(model: EncoderDecoder, batch: Batch, about: object = "") -> None:
    """Compare a model with another one of its settings and weights, as a bundle stores them."""
    config, count = from_dict(type(model.config), to_dict(model.config)), len(model.output.bias)
    other = build(config, vocabulary_sizes(config.family, count, count, True)).eval()
    fill(other, weights_of(model), Path())
    assert torch.equal(other.teacher_force(batch).features, model.teacher_force(batch).features), (
        about
    )


def check_gradients(model: EncoderDecoder, batch: Batch, about: object = "") -> None:
    """Train a new model of the same settings once; every parameter must get a gradient.

    Frozen image networks read nothing here, and a layer that only aligns has a loss of its own.
    """
    torch.manual_seed(3)
    count = len(model.output.bias)
    model = build(model.config, vocabulary_sizes(model.config.family, count, count, True)).train()
    unsharpened(always_sampled(model))
    forced = model.teacher_force(batch)
    log_probs = model.log_probs(forced)
    loss = (log_probs * torch.randn(log_probs.shape)).sum()
    if forced.log_prob is not None and forced.entropy is not None:
        loss = loss + (forced.log_prob * torch.randn(forced.log_prob.shape)).sum()
        loss = loss + forced.entropy.sum()
    loss.backward()
    for name, parameter in model.named_parameters():
        grad = parameter.grad
        if ".body." not in name and ".aligner." not in name:
            assert grad is not None and grad.isfinite().all(), (about, name)
            assert grad.abs().sum() > 0, (about, name)
