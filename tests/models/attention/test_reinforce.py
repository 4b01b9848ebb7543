"""The loss of hard attention is the gradient of the expected likelihood."""

from __future__ import annotations

import dataclasses
import itertools
import math

import pytest
import torch
from torch import Tensor

from models.attention import reads
from models.base.types import Batch
from models.config import AttentionConfig, AttentionLossConfig
from models.families.encoder_decoder import EncoderDecoder
from models.losses import AttentionLoss, token_loss
from tests.models.mechanisms import BATCH, FAMILIES, hard_model, model_of
from tests.models.small import pairs

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


def test_soft_attention_adds_nothing_to_the_loss() -> None:
    model = model_of("rnnsearch-nano", AttentionConfig())
    forced = model.teacher_force(BATCH)
    assert AttentionLoss(AttentionLossConfig(), model)(forced, BATCH, torch.ones(3), 7.0) == (0, 7)
