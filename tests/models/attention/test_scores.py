"""Scores equal their formulas, and refuse sizes that cannot work."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

from models.attention.additive import Additive, AdditiveEnergy
from models.attention.concat import Concat
from models.config import AttentionConfig
from models.registry import find, names
from tests.models.attention.formulas import FORMULAS
from tests.models.mechanisms import BATCH, EQUAL_SIZES, FAMILIES, a_past, model_of, refused


def test_every_score_has_a_formula() -> None:
    assert set(FORMULAS) == set(names("score"))


@torch.no_grad()
@pytest.mark.parametrize("name", FORMULAS)
def test_a_score_equals_its_formula_in_plain_loops(name: str) -> None:
    torch.manual_seed(1)
    size = 4 if name in EQUAL_SIZES else 3  # of the query
    score = find("score", name)(size, 4, AttentionConfig(score=name, depth=3, filter_width=3))
    query, values, past = torch.randn(2, 3, size), torch.randn(2, 5, 4), a_past()
    recalled = (past,) if score.needs_history else ()
    scores = score(query, score.prepare(values), *recalled)
    assert scores.shape == (2, 3, 5)
    for b, t, i in itertools.product(range(2), range(3), range(5)):
        expected = FORMULAS[name](
            query[b, t].tolist(), values[b, i].tolist(), i, past.previous[b, t].tolist(), score
        )
        assert float(scores[b, t, i]) == pytest.approx(expected, abs=1e-4)


@torch.no_grad()
def test_cosine_of_equal_sizes_needs_no_map_and_is_bounded_by_its_sharpness() -> None:
    torch.manual_seed(1)
    score = find("score", "cosine")(4, 4, AttentionConfig(score="cosine"))
    score.sharpness.weight.zero_()
    query, values = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    angles = torch.nn.functional.cosine_similarity(query[:, :, None], values[:, None], dim=-1)
    torch.testing.assert_close(score(query, score.prepare(values)), 8 * angles)


def test_a_source_longer_than_location_has_logits_for_is_refused() -> None:
    score = find("score", "location")(3, 4, AttentionConfig(score="location", positions=5))
    score.prepare(torch.randn(1, 5, 4))
    refused(lambda: score.prepare(torch.randn(1, 6, 4)), "6 slots", "at most 5", "positions")


def test_the_chunks_and_the_recomputation_of_ffn_change_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch.manual_seed(1)
    score = find("score", "ffn")(3, 4, AttentionConfig(score="ffn"))
    query, values = torch.randn(2, 5, 3, requires_grad=True), torch.randn(2, 6, 4)
    aim, found = torch.randn(2, 5, 6), []
    for size in (1, 2**20):
        monkeypatch.setattr("models.attention.ffn.CHUNK_ELEMENTS", size)
        scores = score(query, score.prepare(values))
        grads = torch.autograd.grad((scores * aim).sum(), [query, *score.parameters()])
        found.append((scores, *grads))
    direct = score.scores(score.query(query), score.prepare(values))
    found.append((direct, *torch.autograd.grad((direct * aim).sum(), [query, *score.parameters()])))
    for one, other in itertools.pairwise(found):
        torch.testing.assert_close(one, other)


@torch.no_grad()
@pytest.mark.parametrize("name", ["additive", "concat", "location_aware"])
def test_the_coverage_feature_adds_the_sum_of_earlier_weights(name: str) -> None:
    torch.manual_seed(1)
    config = AttentionConfig(score=name, coverage=True, filter_width=3)
    score = find("score", name)(3, 4, config)
    query, values, past = torch.randn(2, 3, 3), torch.randn(2, 5, 4), a_past()
    inner = score.query(query)[:, :, None] + score.key(values)[:, None]
    inner = inner + past.total[..., None] @ score.coverage.mT
    if name == "location_aware":
        inner = inner + score.feature(score.convolved(past.previous))
    expected = inner.tanh() @ score.energy
    torch.testing.assert_close(score(query, score.prepare(values), past), expected)


def test_the_energy_with_features_has_the_gradient_of_finite_differences() -> None:
    from models.attention.additive import AdditiveEnergy

    torch.manual_seed(1)
    shapes = [(2, 3, 4), (2, 5, 4), (4,), (2, 3, 5, 2), (4, 2)]
    inputs = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]
    assert torch.autograd.gradcheck(AdditiveEnergy.apply, inputs)


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_history_is_what_happened(preset: str, heads: int) -> None:
    """After some steps, the state holds their number, the last weights and the sum of all."""
    config = AttentionConfig(coverage=True, heads=heads)
    model = model_of(preset, config)
    prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
    weights = []
    for tokens in BATCH.target_in.unbind(1):
        step = model.step(tokens, state, prepared, want_weights=True)
        state = step.state
        weights.append(step.weights)
    histories = state.history.heads if heads > 1 else [state.history]
    assert all((history.step == 6).all() for history in histories)
    last = sum(history.previous for history in histories) / heads
    total = sum(history.total for history in histories) / heads
    torch.testing.assert_close(last, weights[-1])
    torch.testing.assert_close(total, sum(weights))


def test_concat_is_additive_with_its_matrix_split() -> None:
    torch.manual_seed(1)
    config = AttentionConfig(size=6)
    one, other = Concat(3, 4, config), Additive(3, 4, config)
    joined = torch.randn(6, 7)  # W of v^T tanh(W [s; h])
    with torch.no_grad():
        other.key.bias.zero_()
        for score in (one, other):
            score.query.weight.copy_(joined[:, :3])
            score.key.weight.copy_(joined[:, 3:])
            score.energy.copy_(torch.arange(6.0))
    query, values = torch.randn(2, 3, 3), torch.randn(2, 5, 4)
    pairs = torch.cat(
        [query[:, :, None].expand(-1, -1, 5, -1), values[:, None].expand(-1, 3, -1, -1)], -1
    )
    written_out = (pairs @ joined.mT).tanh() @ torch.arange(6.0)
    for score in (one, other):
        torch.testing.assert_close(score(query, score.prepare(values)), written_out)


def test_additive_energy_has_the_gradient_of_finite_differences() -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(s, dtype=torch.float64) for s in [(2, 3, 4), (2, 5, 4), (4,)]]
    assert torch.autograd.gradcheck(AdditiveEnergy.apply, [x.requires_grad_() for x in inputs])


def test_the_additive_size_is_the_queries_unless_it_is_given() -> None:
    config = AttentionConfig()
    assert Additive(3, 4, config).energy.shape == (3,)
    assert Additive(3, 4, dataclasses.replace(config, size=7)).energy.shape == (7,)
