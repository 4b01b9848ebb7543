"""Losses equal their formulas: sliced cross-entropy, R-Drop, coverage, regions, REINFORCE."""

from __future__ import annotations

import dataclasses
import itertools
import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, linear

from models.attention import reads
from models.core.attention_config import AttentionLossConfig
from models.core.types import Batch
from models.networks import losses
from models.networks import losses as loss
from models.networks.bundle import build
from models.networks.decoder import DecoderOutput
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.losses import AttentionLoss, coverage_penalty, divergence, token_loss
from tests.models.mechanisms import BATCH, FAMILIES, SIZES, hard_model
from tests.models.small import pairs, small_config, small_model

VOCABULARY = 11


class Inputs(NamedTuple):
    features: Tensor  # (10, 6)
    target: Tensor  # (10,)
    weight: Tensor  # (Y, 6)
    bias: Tensor  # (Y,)

    @property
    def learned(self) -> list[Tensor]:
        return [self.features, self.weight, self.bias]


class Result(NamedTuple):
    loss: Tensor
    grads: tuple[Tensor, ...]


@pytest.fixture(params=[1, 3, 10, 1000], ids=lambda rows: f"slices-of-{rows}")
def sliced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss, "SLICE_ELEMENTS", request.param * VOCABULARY)


def inputs() -> Inputs:
    torch.manual_seed(1)
    return Inputs(
        torch.randn(10, 6).requires_grad_(),
        torch.randint(VOCABULARY, (10,)),
        torch.randn(VOCABULARY, 6).requires_grad_(),
        torch.randn(VOCABULARY).requires_grad_(),
    )


def expected(given: Inputs, smoothing: float) -> Result:
    logits = linear(given.features, given.weight, given.bias)
    value = cross_entropy(logits, given.target, label_smoothing=smoothing, reduction="sum")
    return Result(value, torch.autograd.grad(value, given.learned))


@pytest.mark.usefixtures("sliced")
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_it_equals_cross_entropy(smoothing: float) -> None:
    given = inputs()
    value, nll = token_loss(*given, smoothing)
    reference = expected(given, smoothing)
    torch.testing.assert_close(value, reference.loss)
    torch.testing.assert_close(nll.sum(), expected(given, 0.0).loss)
    assert not nll.requires_grad
    for ours, theirs in zip(
        torch.autograd.grad(value / 7, given.learned), reference.grads, strict=True
    ):
        torch.testing.assert_close(ours, theirs / 7)


@pytest.mark.usefixtures("sliced")
def test_in_bf16_it_is_close() -> None:
    given = inputs()
    with torch.autocast("cpu", torch.bfloat16):
        value, nll = token_loss(*given, 0.1)
    reference = expected(given, 0.1)
    assert value.dtype == nll.dtype == torch.float32
    torch.testing.assert_close(value, reference.loss, rtol=0.01, atol=0)
    for ours, theirs in zip(
        torch.autograd.grad(value, given.learned), reference.grads, strict=True
    ):
        assert ours.dtype == torch.float32
        assert float((ours - theirs).norm() / theirs.norm()) < 0.02


@pytest.mark.parametrize("elements", [2**22, 40])  # one slice, and many
def test_divergence_and_gradients_equal_the_plain_formula(
    elements: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(losses, "SLICE_ELEMENTS", elements)
    torch.manual_seed(1)
    inputs = [torch.randn(*shape, requires_grad=True) for shape in ((9, 5), (9, 5), (11, 5), (11,))]
    first, second, weight, bias = inputs
    one, two = (linear(x, weight, bias).log_softmax(-1) for x in (first, second))
    plain = (
        kl_div(one, two, reduction="sum", log_target=True)
        + kl_div(two, one, reduction="sum", log_target=True)
    ) / 2
    found = divergence(*inputs)
    torch.testing.assert_close(found, plain)
    for ours, theirs in zip(
        torch.autograd.grad(found, inputs), torch.autograd.grad(plain, inputs), strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_coverage_penalties_are_their_formulas_in_plain_loops() -> None:
    torch.manual_seed(1)
    weights = torch.rand(3, 6, 7) * BATCH.source_mask[:, None]
    see = doubly = 0.0
    for b in range(3):
        slots, steps = int(BATCH.source_mask[b].sum()), int(BATCH.target_mask[b].sum())
        for i in range(slots):
            column = [float(weights[b, t, i]) for t in range(steps)]
            see += sum(min(column[t], sum(column[:t])) for t in range(steps))
            doubly += (1 - sum(column)) ** 2
    masks = BATCH.source_mask, BATCH.target_mask
    assert float(coverage_penalty(weights, *masks, kind="see")) == pytest.approx(see, abs=1e-4)
    found = coverage_penalty(weights, *masks, kind="doubly_stochastic")
    assert float(found) == pytest.approx(doubly, abs=1e-4)


@pytest.mark.parametrize("preset", [*FAMILIES, "transformer-nano"])
@pytest.mark.parametrize("kind", ["see", "doubly_stochastic"])
def test_the_coverage_penalty_goes_into_the_loss_with_its_weight(preset: str, kind: str) -> None:
    torch.manual_seed(1)
    model = build(small_config(preset), SIZES)
    term = AttentionLoss(AttentionLossConfig(coverage=kind, coverage_weight=0.5), model)
    forced = model.teacher_force(BATCH, want_weights=term.wants_weights)
    value, _ = term(forced, BATCH, torch.ones(3), None)
    assert forced.weights is not None and isinstance(value, Tensor)
    masks = BATCH.source_mask, BATCH.target_mask
    assert float(value.detach()) == pytest.approx(
        0.5 * float(coverage_penalty(forced.weights.detach(), *masks, kind=kind))
    )
    value.backward()
    assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in model.encoder.parameters())


def test_attention_is_drawn_to_regions_at_the_steps_that_have_one() -> None:
    batch = pairs([4, 3], [3, 2])
    regions = torch.zeros(2, 3, 4)
    regions[0, 1, :2] = 0.5
    weights = torch.full((2, 3, 4), 0.25)
    weights[0, 1] = torch.tensor([0.8, 0.1, 0.1, 0.0])
    loss = AttentionLoss(AttentionLossConfig(regions=2), small_model("rnnsearch-nano"))
    forced = DecoderOutput(torch.zeros(2, 3, 1), None, weights)
    terms, _ = loss(forced, batch._replace(regions=regions), torch.zeros(5), None)
    expected = -(math.log(0.8) + math.log(0.1))
    torch.testing.assert_close(terms, torch.tensor(expected), atol=1e-5, rtol=0)


def test_the_penalty_on_entropy_counts_real_steps() -> None:
    batch = pairs([4, 3], [3, 2])
    weights = torch.full((2, 3, 4), 0.25)
    weights[0, 0] = torch.tensor([1.0, 0.0, 0.0, 0.0])
    loss = AttentionLoss(AttentionLossConfig(peaked=0.5), small_model("rnnsearch-nano"))
    forced = DecoderOutput(torch.zeros(2, 3, 1), None, weights)
    terms, _ = loss(forced, batch, torch.zeros(5), None)
    torch.testing.assert_close(terms, torch.tensor(0.5 * 4 * math.log(4)), atol=1e-5, rtol=0)


REINFORCE = AttentionLossConfig(entropy=0.0)
TWO_STEPS = pairs([3], [2])


def token_losses(model: EncoderDecoder, batch: Batch, features: Tensor) -> tuple[Tensor, Tensor]:
    mask, output = batch.target_mask, model.output
    return token_loss(features[mask], batch.target_out[mask], output.weight, output.bias)


def repeated(batch: Batch, times: int) -> Batch:
    return batch.map(lambda part: part.expand(times, -1))


@pytest.mark.parametrize("preset", FAMILIES)
def test_reinforce_is_the_gradient_of_the_expected_likelihood(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of many draws against the sum over all 9 ways to draw twice among 3 slots."""
    model = hard_model(preset)
    parameters = [p for name, p in model.named_parameters() if "attention" in name]
    parameters.append(model.get_parameter("encoder.rnn.weight_ih_l0"))
    estimates = []
    estimator = AttentionLoss(REINFORCE, model)
    baseline: float | None = None
    for _ in range(60):
        batch = repeated(TWO_STEPS, 50)
        forced = model.teacher_force(batch)
        loss, nll = token_losses(model, batch, forced.features)
        known = baseline if baseline is not None else -3.0  # any number not of this batch
        terms, baseline = estimator(forced, batch, nll, known)
        grads = torch.autograd.grad((loss + terms) / 50, parameters)
        estimates.append(torch.cat([grad.flatten() for grad in grads]))

    paths = list(itertools.product(range(3), repeat=2))
    steps = iter(torch.tensor(paths).unbind(1))
    monkeypatch.setattr(reads, "sampled", lambda weights, place: next(steps)[:, None])
    batch = repeated(TWO_STEPS, 9)
    forced = model.teacher_force(batch)
    assert forced.log_prob is not None
    log_probs = model.output(forced.features).log_softmax(-1)
    said = log_probs.gather(2, batch.target_out[:, :, None]).sum((1, 2))  # (9,)
    chances = forced.log_prob.sum(1).exp()
    torch.testing.assert_close(chances.sum(), torch.tensor(1.0))
    exact_grads = torch.autograd.grad(-(chances * said).sum(), parameters)
    exact = torch.cat([grad.flatten() for grad in exact_grads])

    found = torch.stack(estimates)
    error = found.std(0) / math.sqrt(len(estimates))
    z = (found.mean(0) - exact)[error > 1e-9] / error[error > 1e-9]
    assert len(z) > 300 and float(z.abs().max()) < 5.5 and float(z.square().mean()) < 2.5
    # and the draws' part is not lost in the noise: without REINFORCE the mean would be elsewhere
    assert float(exact.norm()) > 5 * float(error.norm()) / math.sqrt(len(error))


def test_the_baseline_follows_the_likelihood_and_the_entropy_is_rewarded() -> None:
    model = hard_model("rnnsearch-nano", heads=2)
    forced = model.teacher_force(BATCH)
    _, nll = token_losses(model, BATCH, forced.features)
    assert forced.entropy is not None
    plain, baseline = AttentionLoss(REINFORCE, model)(forced, BATCH, nll, -2.0)
    assert baseline == pytest.approx(0.9 * -2.0 + 0.1 * -float(nll.mean()), abs=1e-5)
    config = dataclasses.replace(REINFORCE, entropy=0.5)
    rewarded, _ = AttentionLoss(config, model)(forced, BATCH, nll, -2.0)
    spread = float((forced.entropy * BATCH.target_mask).sum().detach())
    gain = torch.as_tensor(plain - rewarded)
    assert float(gain.detach()) == pytest.approx(0.5 * spread, abs=1e-3)
    _, first = AttentionLoss(REINFORCE, model)(forced, BATCH, nll, None)
    assert first == pytest.approx(-float(nll.mean()), abs=1e-5)
