"""Scores equal their formulas, and refuse sizes that cannot work."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from models.core.attention_config import AttentionConfig
from models.core.numerics import additive_energy, feed_forward_energy
from models.core.registry import find, names
from tests.models.attention.formulas import FORMULAS
from tests.models.mechanisms import BATCH, EQUAL_SIZES, FAMILIES, a_past, model_of


def test_every_score_has_a_formula() -> None:
    assert set(FORMULAS) == set(names("score"))


@torch.no_grad()
@pytest.mark.parametrize("name", FORMULAS)
def test_a_score_equals_its_formula_in_plain_loops(name: str) -> None:
    torch.manual_seed(1)
    size = 4 if name in EQUAL_SIZES else 3  # of the query
    score = find("score", name)(size, 4, AttentionConfig.of(score=name))
    query, values, past = torch.randn(2, 3, size), torch.randn(2, 5, 4), a_past()
    recalled = (past,) if score.needs_history else ()
    scores = score(query, score.prepare(values), *recalled)
    assert scores.shape == (2, 3, 5)
    for b, t, i in itertools.product(range(2), range(3), range(5)):
        expected = FORMULAS[name](
            query[b, t].tolist(), values[b, i].tolist(), i, past.previous[b, t].tolist(), score
        )
        assert float(scores[b, t, i]) == pytest.approx(expected, abs=1e-4)


ENERGIES: dict[str, tuple[Callable[..., Tensor], list[tuple[int, ...]]]] = {
    "additive": (additive_energy, [(2, 3, 4), (2, 5, 4), (4,)]),
    "with features": (additive_energy, [(2, 3, 4), (2, 5, 4), (4,), (2, 3, 5, 2), (4, 2)]),
    "ffn": (feed_forward_energy, [(2, 3, 4), (2, 5, 4), (4,), (4, 4), (4,)]),
}


def plain_energy(name: str, query: Tensor, keys: Tensor, energy: Tensor, *more: Tensor) -> Tensor:
    """Return the energies by their formula, all pairs at once."""
    inner = query.unsqueeze(2) + keys.unsqueeze(1)
    if name == "with features":
        inner = inner + more[0] @ more[1].mT
    hidden = inner.tanh()
    if name == "ffn":
        hidden = torch.nn.functional.linear(hidden, *more).tanh()
    return hidden @ energy


@pytest.mark.parametrize("name", ENERGIES)
def test_energies_and_gradients_are_those_of_the_formula(name: str) -> None:
    torch.manual_seed(1)
    compute, shapes = ENERGIES[name]
    inputs = [(3 * torch.randn(shape)).double().requires_grad_() for shape in shapes]
    aim = torch.randn(2, 3, 5).double()
    scores, expected = compute(*inputs), plain_energy(name, *inputs)
    torch.testing.assert_close(scores, expected)
    one, other = (torch.autograd.grad((x * aim).sum(), inputs) for x in (scores, expected))
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["additive", "ffn"])
def test_energies_under_autocast_are_those_of_fp32_up_to_rounding(name: str) -> None:
    torch.manual_seed(1)
    score = find("score", name)(8, 8, AttentionConfig.of(score=name))
    query, values = torch.randn(2, 5, 8, requires_grad=True), torch.randn(2, 6, 8)
    found = []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            scores = score(query, score.prepare(values))
        grads = torch.autograd.grad(scores.float().square().sum(), [query, *score.parameters()])
        found.append([scores.float(), *grads])
    torch.testing.assert_close(found[0], found[1], atol=0.2, rtol=0.1)


@torch.no_grad()
@pytest.mark.parametrize("name", ["additive", "concat", "location_aware"])
def test_the_coverage_feature_adds_the_sum_of_earlier_weights(name: str) -> None:
    torch.manual_seed(1)
    config = AttentionConfig.of(score=name, coverage=True)
    score = find("score", name)(3, 4, config)
    query, values, past = torch.randn(2, 3, 3), torch.randn(2, 5, 4), a_past()
    inner = score.query(query)[:, :, None] + score.key(values)[:, None]
    inner = inner + past.total[..., None] @ score.coverage.mT
    if name == "location_aware":
        inner = inner + score.feature(score.convolved(past.previous))
    expected = inner.tanh() @ score.energy
    torch.testing.assert_close(score(query, score.prepare(values), past), expected)


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_history_is_what_happened(preset: str, heads: int) -> None:
    """After some steps, the state holds their number, the last weights and the sum of all."""
    config = AttentionConfig.of(coverage=True, heads=heads)
    model = model_of(preset, config)
    prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
    weights = []
    for tokens in BATCH.target_in.unbind(1):
        step = model.step(tokens, state, prepared, want_weights=True)
        state = step.state
        weights.append(step.weights)
    history = state.history
    assert (history.step == 6).all()
    each = [part.view(3, heads, -1).mean(1) for part in (history.previous, history.total)]
    torch.testing.assert_close(each[0], weights[-1])
    torch.testing.assert_close(each[1], sum(weights))
