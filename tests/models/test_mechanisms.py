"""Every mechanism keeps the contract, alone and in every combination that is not refused."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save as to_bytes
from torch import Tensor

from models.attention import hard
from models.attention.base import Attention, History
from models.attention.entmax15 import Entmax15
from models.attention.hard import Hard
from models.attention.heads import Heads, attention
from models.attention.sparsemax import Sparsemax
from models.attention.windows import LocalMonotonic, LocalPredictive
from models.bundle import build, load_weights, weights_of
from models.config import AttentionConfig, AttentionLossConfig, ModelConfig, from_dict, to_dict
from models.encoders.intra import IntraRecurrence
from models.errors import ModelError
from models.loss import AttentionLoss, LossSum, coverage_penalty
from models.model import EncoderDecoder
from models.registry import find, names
from models.types import Attended, Batch, Memory, VocabularySizes
from tests.models import test_attention
from tests.models.small import VOCABULARY, pairs, small_config

EQUAL_SIZES = {name for name in names("score") if find("score", name).equal}
BATCH = pairs([4, 7, 2], [5, 3, 6])
CLOSE = {"atol": 1e-4, "rtol": 1e-4}
SIZES = VocabularySizes(VOCABULARY, VOCABULARY, True)
FAMILIES = ("rnnsearch-nano", "luong-nano")
Vector = list[float]

each_kind = pytest.mark.parametrize(
    ("preset", "score", "window"),
    list(itertools.product(FAMILIES, names("score"), names("window"))),
)


def combinations(score: str, window: str) -> Iterator[AttentionConfig]:
    """Every normaliser, read and number of heads with a score and a window."""
    for normalise, read, heads in itertools.product(names("normalise"), names("read"), (1, 2)):
        yield AttentionConfig(
            score=score,
            window=window,
            normalise=normalise,
            read=read,
            heads=heads,
            window_size=2,
            filter_width=3,
            read_soft=0.0,
        )


def configured(preset: str, config: AttentionConfig) -> ModelConfig:
    both = config.score not in EQUAL_SIZES or config.heads > 1
    return dataclasses.replace(small_config(preset), attention=config, bidirectional=both)


@cache
def model_of(preset: str, config: AttentionConfig) -> EncoderDecoder:
    """A model with random weights. Not to be changed."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = build(configured(preset, config), SIZES)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += torch.randn_like(parameter) * 0.1
    return model.eval()


def close(one: Tensor, other: Tensor, config: AttentionConfig) -> None:
    torch.testing.assert_close(one, other, **CLOSE, msg=lambda text: f"{config}\n{text}")


@each_kind
@torch.no_grad()
def test_weights_are_shares_of_the_real_slots(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window):
        weights = model_of(preset, config).teacher_force(BATCH, want_weights=True).weights
        assert weights is not None and weights.shape == (3, 6, 7), config
        assert (weights.masked_select(~BATCH.source_mask[:, None]) == 0).all(), config
        assert (weights >= 0).all(), config
        total = weights.sum(-1)
        if window == "local_p" and config.read == "soft":
            assert (total <= 1 + 1e-5).all() and (total > 0).all(), config
        else:
            close(total, torch.ones(3, 6), config)
        if config.read == "hard" and config.heads == 1:
            assert ((weights == 0) | (weights == 1)).all(), config


@each_kind
@torch.no_grad()
def test_step_by_step_equals_all_at_once(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window):
        model = model_of(preset, config)
        forced = model.teacher_force(BATCH, want_weights=True)
        prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
        expected = model.output(forced.features).log_softmax(-1)
        for t, tokens in enumerate(BATCH.target_in.unbind(1)):
            step = model.step(tokens, state, prepared, want_weights=True)
            state = step.state
            close(step.log_probs, expected[:, t], config)
            assert step.weights is not None and forced.weights is not None
            close(step.weights, forced.weights[:, t], config)


@each_kind
@torch.no_grad()
def test_a_sentence_alone_equals_the_same_in_a_batch(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window):
        model = model_of(preset, config)
        together = model.teacher_force(BATCH, want_weights=True)
        slots = int(BATCH.source_mask[0].sum())
        row = Batch(*(part[:1, :slots] for part in BATCH[:2]), *(part[:1] for part in BATCH[2:5]))
        alone = model.teacher_force(row, want_weights=True)
        close(together.features[:1], alone.features, config)
        assert together.weights is not None and alone.weights is not None
        close(together.weights[:1, :, :slots], alone.weights, config)


@each_kind
@torch.no_grad()
def test_hypotheses_that_change_places_take_their_history_along(
    preset: str, score: str, window: str
) -> None:
    """Two hypotheses a sentence; the second is dropped, the first goes on twice, and so on."""
    for config in combinations(score, window):
        model = model_of(preset, config)
        prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
        rows, said = torch.tensor([0, 0, 1, 1, 2, 2]), torch.empty(6, 0, dtype=torch.long)
        for moves in ([0, 1, 2, 3, 4, 5], [0, 0, 3, 2, 5, 5], [1, 0, 3, 3, 4, 5]):
            state = state.select(torch.tensor(moves) if said.shape[1] else rows)
            said = said[moves]
            tokens = 4 + (torch.arange(6) * 5 + said.shape[1] * 3) % 20
            said = torch.cat([said, tokens[:, None]], 1)
            step = model.step(tokens, state, prepared)
            state = step.state
        batch = Batch(BATCH.source[rows], BATCH.source_mask[rows], said, said, said > 0)
        expected = model.output(model.teacher_force(batch).features[:, -1]).log_softmax(-1)
        close(step.log_probs, expected, config)


@each_kind
def test_gradients_reach_every_parameter(preset: str, score: str, window: str) -> None:
    for config in combinations(score, window):
        torch.manual_seed(3)
        model = build(configured(preset, config), SIZES).train()
        forced = model.teacher_force(BATCH)
        loss = (model.output(forced.features) * torch.randn(3, 6, VOCABULARY)).sum()
        if config.read == "hard":
            assert forced.log_prob is not None and forced.entropy is not None
            loss = loss + (forced.log_prob * torch.randn(3, 6)).sum() + forced.entropy.sum()
        loss.backward()
        for name, parameter in model.named_parameters():
            grad = parameter.grad
            assert grad is not None and grad.isfinite().all() and grad.abs().sum() > 0, (
                config,
                name,
            )


@each_kind
def test_what_is_saved_is_what_is_loaded(
    preset: str, score: str, window: str, tmp_path: Path
) -> None:
    for config in combinations(score, window):
        if config.normalise != "softmax":  # no normaliser has parameters
            continue
        model = model_of(preset, config)
        path = tmp_path / "model.safetensors"
        path.write_bytes(to_bytes(weights_of(model)))
        other = build(from_dict(ModelConfig, to_dict(model.config)), SIZES).eval()
        load_weights(other, path)
        with torch.no_grad():
            assert torch.equal(
                other.teacher_force(BATCH).features, model.teacher_force(BATCH).features
            ), config


@pytest.mark.parametrize("score", names("score"))
@pytest.mark.parametrize("window", names("window"))
def test_the_context_is_the_values_under_the_weights(score: str, window: str) -> None:
    mask = BATCH.source_mask
    for config, training in itertools.product(combinations(score, window), (True, False)):
        torch.manual_seed(1)
        asked = attention(6, 6, config).train(training)
        query, memory = torch.randn(3, 2, 6, requires_grad=True), Memory(torch.randn(3, 7, 6), mask)
        prepared = asked.prepare(memory)
        if isinstance(asked, Attention):
            attended = asked(query, prepared)
            contexts, weights = attended.context, attended.weights
            expected = weights @ memory.values
        else:
            torch.manual_seed(2)
            attended = asked(query, prepared)
            contexts = attended.context
            torch.manual_seed(2)
            single = one_by_one(asked, query, prepared.heads)
            expected = torch.cat(
                [
                    head.weights @ part.values
                    for head, part in zip(single, prepared.heads, strict=True)
                ],
                -1,
            )
            weights = (single[0].weights + single[1].weights) / 2
        close(contexts, expected, config)
        close(attended.weights, weights, config)
        if config.read == "soft" or training:
            (contexts.sum() if attended.log_prob is None else attended.log_prob.sum()).backward()
            assert query.grad is not None and query.grad.abs().sum() > 0, config


def one_by_one(asked: Heads, query: Tensor, prepared: Any) -> list[Attended]:
    queries = asked.query(query).chunk(2, -1)
    parts = zip(asked.heads, queries, prepared, strict=True)
    return [head(part, memory) for head, part, memory in parts]


# the formulas, in plain loops


def dot(a: Vector, b: Vector) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Tensor, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix.tolist()]


def cosine(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    key = times(score.query.weight, s)
    sharpness = dot(score.sharpness.weight[0].tolist(), s) + float(score.sharpness.bias.detach())
    angle = dot(key, h) / math.sqrt(dot(key, key) * dot(h, h))
    return math.log1p(math.exp(sharpness)) * angle


def location(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    return times(score.logits.weight, s)[i]


def location_aware(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    filters = score.convolution.weight[:, 0].tolist()
    reach = len(filters[0]) // 2
    features = [
        sum(
            f[j] * previous[i + j - reach]
            for j in range(len(f))
            if 0 <= i + j - reach < len(previous)
        )
        for f in filters
    ]
    inner = zip(
        times(score.query.weight, s),
        times(score.key.weight, h),
        times(score.feature.weight, features),
        score.key.bias.tolist(),
        strict=True,
    )
    return dot(score.energy.tolist(), [math.tanh(sum(parts)) for parts in inner])


def ffn(s: Vector, h: Vector, i: int, previous: Vector, score: Any) -> float:
    first = torch.cat([score.query.weight, score.key.weight], 1)  # W_1
    hidden = [
        math.tanh(a + b) for a, b in zip(times(first, s + h), score.key.bias.tolist(), strict=True)
    ]
    for layer in score.layers:
        hidden = [
            math.tanh(a + b)
            for a, b in zip(times(layer.weight, hidden), layer.bias.tolist(), strict=True)
        ]
    return dot(score.energy.weight[0].tolist(), hidden)


FORMULAS: dict[str, Callable[[Vector, Vector, int, Vector, Any], float]] = {
    "cosine": cosine,
    "location": location,
    "location_aware": location_aware,
    "ffn": ffn,
}


def a_past(slots: int = 5, queries: int = 3) -> History:
    """A history of two sentences, (B, T, ..)."""
    random = torch.Generator().manual_seed(5)
    previous = torch.rand(2, queries, slots, generator=random).softmax(-1)
    total = torch.rand(2, queries, slots, generator=random) * 3
    return History(torch.full((2, queries), 2.0), previous, total, torch.zeros(2, queries))


def test_every_score_has_a_formula_somewhere() -> None:
    assert set(FORMULAS) | set(test_attention.FORMULAS) == set(names("score"))


@torch.no_grad()
@pytest.mark.parametrize("name", FORMULAS)
def test_a_score_equals_its_formula_in_plain_loops(name: str) -> None:
    torch.manual_seed(1)
    score = find("score", name)(3, 4, AttentionConfig(score=name, depth=3, filter_width=3))
    query, values, past = torch.randn(2, 3, 3), torch.randn(2, 5, 4), a_past()
    recalled = (past,) if score.remembers else ()
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


# windows


@torch.no_grad()
def test_local_m_sees_the_slots_around_its_step() -> None:
    window = LocalMonotonic(3, AttentionConfig(window="local_m", window_size=1))
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    past = a_past()
    for step in range(7):
        view = window(torch.randn(2, 3, 3), mask, past._replace(step=torch.full((2, 3), step)))
        for b, length in ((0, 3), (1, 5)):
            centre = min(step, length - 1)
            expected = [abs(i - centre) <= 1 and i < length for i in range(5)]
            assert view.slots[b].tolist() == [expected] * 3
    assert view.share is None


@torch.no_grad()
def test_local_p_is_its_formula_with_each_sentences_own_length() -> None:
    torch.manual_seed(1)
    window = LocalPredictive(3, AttentionConfig(window="local_p", window_size=2))
    query, mask = torch.randn(2, 3, 3), torch.tensor([[True] * 4 + [False] * 5, [True] * 9])
    slots, share = window(query, mask, None)
    for b, t in itertools.product(range(2), range(3)):
        length = 4 if b == 0 else 9
        hidden = [math.tanh(x) for x in times(window.hidden.weight, query[b, t].tolist())]
        centre = length / (1 + math.exp(-dot(window.place.weight[0].tolist(), hidden)))
        for i in range(9):
            assert bool(slots[b, t, i]) == (abs(i - centre) <= 2 and i < length)
            gauss = math.exp(-((i - centre) ** 2) / (2 * 1**2))  # sigma = D / 2
            assert float(share[b, t, i]) == pytest.approx(gauss, abs=1e-5)


def test_the_gaussian_comes_after_the_softmax_and_nothing_is_normalised_again() -> None:
    torch.manual_seed(1)
    asked = Attention(4, 4, AttentionConfig(score="dot", window="local_p", window_size=2))
    query, memory = torch.randn(1, 1, 4), Memory(torch.randn(1, 9, 4), torch.ones(1, 9).bool())
    slots, share = asked.window(query, memory.mask, None)
    scores = (query @ memory.values.mT).masked_fill(~slots, -torch.inf)
    assert share is not None
    attended = asked(query, asked.prepare(memory))
    torch.testing.assert_close(attended.weights, scores.softmax(-1) * share)


# normalisers


def bisected(scores: Vector, weight: Callable[[float], float]) -> Vector:
    """weight(z - tau) with the tau at which they sum to 1, by halving an interval."""
    low, high = min(scores) - 2, max(scores)
    for _ in range(100):
        middle = (low + high) / 2
        if sum(weight(z - middle) for z in scores) > 1:
            low = middle
        else:
            high = middle
    return [weight(z - low) for z in scores]


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 3.0, 100.0, 1e6])
def test_sparse_normalisers_equal_bisection(scale: float) -> None:
    torch.manual_seed(1)
    scores = torch.randn(4, 3, 9, dtype=torch.float64) * scale
    scores[0, 0, :4] = scores[0, 0, 4]  # ties
    mask = torch.rand(4, 3, 9) < 0.7
    mask[..., 0] = True
    for module, halved, weight in (
        (Sparsemax(), 1.0, lambda x: max(0.0, x)),
        (Entmax15(), 0.5, lambda x: max(0.0, x) ** 2),
    ):
        weights = module(scores, mask)
        assert (weights[~mask] == 0).all()
        for b, t in itertools.product(range(4), range(3)):
            inside = (scores[b, t][mask[b, t]] * halved).tolist()
            expected = torch.tensor(bisected(inside, weight), dtype=torch.float64)
            torch.testing.assert_close(weights[b, t][mask[b, t]], expected, atol=1e-7, rtol=0)


@pytest.mark.parametrize("module", [Sparsemax(), Entmax15()])
def test_sparse_normalisers_have_the_gradient_of_finite_differences(module: Any) -> None:
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 6, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[True] * 4 + [False] * 2, [True] * 6])[:, None]
    assert torch.autograd.gradcheck(lambda x: module(x, mask), [scores])
    assert ((module(scores, mask) == 0) & mask).any()  # the gradient of exact zeros is tested too


@pytest.mark.parametrize("module", [Sparsemax(), Entmax15()])
def test_sparse_normalisers_of_nothing_and_of_half_precision(module: Any) -> None:
    scores = torch.randn(1, 2, 4, requires_grad=True)
    nothing = module(scores, torch.zeros(1, 1, 4).bool())
    nothing.sum().backward()
    assert (nothing == 0).all() and scores.grad is not None and scores.grad.isfinite().all()
    weights = module(torch.randn(1, 2, 4).bfloat16(), torch.ones(1, 1, 4).bool())
    assert weights.dtype == torch.float32
    torch.testing.assert_close(weights.sum(-1), torch.ones(1, 2))


# hard attention

SHARES = torch.tensor([[[0.1, 0.0, 0.6, 0.3, 0.0]]])


def hard_read(
    weights: Tensor, values: Tensor, *, training: bool = False, **changes: Any
) -> Attended:
    """What is read with weights (B, T, S), each query as if at a step of its own."""
    read = Hard(AttentionConfig(read="hard", **{"read_soft": 0.0, **changes})).train(training)
    rows, queries = weights.shape[:2]
    coin = read.begin(torch.zeros(rows))[:, None].expand(rows, queries)
    step = torch.arange(queries).expand(rows, queries).float()
    return read(weights, values, History(step, weights, weights, coin))


def test_hard_attention_draws_by_the_weights_while_training() -> None:
    torch.manual_seed(1)
    weights = SHARES.expand(1, 20000, 5).clone().requires_grad_()
    values = torch.eye(5)[None]
    attended = hard_read(weights * 0.5, values, training=True)  # local_p: a sum of less than 1
    shares = attended.weights.detach()[0].mean(0)
    torch.testing.assert_close(shares, SHARES[0, 0], atol=0.015, rtol=0)
    assert torch.equal(attended.context, attended.weights)
    drawn = attended.weights.argmax(-1)
    expected = SHARES[0, 0][drawn].log()
    assert attended.log_prob is not None and attended.entropy is not None
    torch.testing.assert_close(attended.log_prob, expected)
    bits = -sum(p * math.log(p) for p in (0.1, 0.6, 0.3))
    torch.testing.assert_close(attended.entropy, torch.full((1, 20000), bits))
    (attended.log_prob.sum() + attended.entropy.sum()).backward()
    assert weights.grad is not None and weights.grad.isfinite().all()


def test_hard_attention_in_use_takes_the_likeliest_a_draw_or_the_expectation() -> None:
    weights = SHARES.expand(1, 20000, 5)
    values = torch.randn(1, 5, 3)
    likeliest = hard_read(weights, values, read_decode="argmax")
    assert (likeliest.weights.argmax(-1) == 2).all() and likeliest.log_prob is None
    torch.testing.assert_close(likeliest.context[0, 0], values[0, 2])
    drawn = hard_read(weights, values, read_decode="sample").weights
    assert drawn.sum(-1).eq(1).all()
    torch.testing.assert_close(drawn.mean((0, 1)), SHARES[0, 0], atol=0.015, rtol=0)
    for word in ("expected", "expectation"):
        torch.testing.assert_close(hard_read(SHARES, values, read_decode=word).weights, SHARES)


def test_samples_of_other_seeds_steps_and_heads_are_independent() -> None:
    step = torch.arange(4096.0)
    found = [hard.uniform(step, torch.full((4096,), head), seed) for head, seed in SEEDS]
    found += [found[0].roll(1), found[0].roll(2)]
    table = torch.stack(found)
    correlation = table.corrcoef() - torch.eye(len(found))
    assert float(correlation.abs().max()) < 0.06  # four standard errors
    assert (table >= 0).all() and (table < 1).all()
    bins = torch.stack([row.histc(16, 0, 1) for row in table])
    assert float(((bins - 256).square() / 256).sum(1).max()) < 45  # chi-squared, 15 df: p = 1e-4


SEEDS = [(head, seed) for head in (0.0, 1.0, 2.0) for seed in (1, 2, 77)]


def test_a_share_of_hard_readings_is_soft_while_training() -> None:
    """Of sentences whole as a rule, of batches, or of every reading by itself."""
    torch.manual_seed(1)
    weights = SHARES.expand(2000, 3, 5)
    for mix, alike in (("sentence", (1,)), ("step", ()), ("batch", (0, 1))):
        attended = hard_read(
            weights, torch.randn(2000, 5, 3), training=True, read_soft=0.25, read_mix=mix
        )
        soft = (attended.weights == SHARES).all(-1)  # (B, T)
        assert attended.log_prob is not None
        assert (attended.log_prob[soft] == 0).all() and (attended.log_prob[~soft] < 0).all()
        for axis in alike:
            assert (soft == soft.narrow(axis, 0, 1)).all(), mix
        if mix != "batch":
            assert float(soft.float().mean()) == pytest.approx(0.25, abs=0.03)
        if mix == "step":
            assert not (soft == soft[:, :1]).all()


@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_a_sentence_is_read_by_expectation_from_first_to_last_or_not_at_all(
    preset: str, heads: int
) -> None:
    config = AttentionConfig(score="general", read="hard", heads=heads)
    torch.manual_seed(1)
    model = build(configured(preset, config), SIZES).train()
    forced = model.teacher_force(BATCH.map(lambda part: part.repeat(40, 1)))
    assert forced.log_prob is not None
    soft = forced.log_prob == 0  # (B, T)
    assert (soft == soft[:, :1]).all()
    assert 0.3 < float(soft.float().mean()) < 0.7


@torch.no_grad()
def test_a_temperature_is_that_of_the_softmax() -> None:
    torch.manual_seed(1)
    scores = torch.randn(2, 3, 5)
    values = torch.randn(2, 5, 4)
    for temperature in (0.01, 0.5, 3.0):
        found = hard_read(
            scores.softmax(-1) * 0.4, values, read_decode="expected", read_temperature=temperature
        )
        torch.testing.assert_close(found.weights, (scores / temperature).softmax(-1) * 0.4)
    zeros = hard_read(SHARES, values[:1], training=True, read_temperature=2.0)
    assert float(zeros.weights[0, 0, 1]) == 0


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_temperature_leaves_gradients_finite_where_a_weight_is_zero(temperature: float) -> None:
    weights = SHARES.clone().requires_grad_()
    found = hard_read(weights, torch.randn(1, 5, 3), training=True, read_temperature=temperature)
    assert found.log_prob is not None and found.entropy is not None
    (found.log_prob.sum() + found.entropy.sum()).backward()
    assert weights.grad is not None and weights.grad.isfinite().all()


def test_a_hard_reading_of_nothing_is_nothing() -> None:
    for changes in ({"training": True}, {}, {"read_decode": "sample"}, {"read_temperature": 0.5}):
        attended = hard_read(torch.zeros(1, 1, 4), torch.randn(1, 4, 3), **changes)
        assert (attended.weights == 0).all() and (attended.context == 0).all()


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_sampled_readings_depend_on_seed_and_step_alone(preset: str, heads: int) -> None:
    """Not on the batch, on what was drawn before, or on decoding at once or step by step."""
    config = AttentionConfig(score="general", read="hard", heads=heads, read_decode="sample")
    model = model_of(preset, config)
    torch.manual_seed(1)
    together = model.teacher_force(BATCH, want_weights=True).weights
    torch.manual_seed(2)
    assert torch.equal(together, model.teacher_force(BATCH, want_weights=True).weights)
    for row in range(3):
        slots = int(BATCH.source_mask[row].sum())
        here = slice(row, row + 1)
        alone = Batch(*(p[here, :slots] for p in BATCH[:2]), *(p[here] for p in BATCH[2:5]))
        weights = model.teacher_force(alone, want_weights=True).weights
        assert torch.equal(together[here, :, :slots], weights)
    prepared, state = model.start(model.encode(BATCH.source, BATCH.source_mask))
    for t, tokens in enumerate(BATCH.target_in.unbind(1)):
        step = model.step(tokens, state, prepared, want_weights=True)
        state = step.state
        assert torch.equal(step.weights, together[:, t])
    others = [
        model.with_read_mode("sample", seed=n).teacher_force(BATCH, want_weights=True)
        for n in range(2, 6)
    ]
    assert any(not torch.equal(other.weights, together) for other in others)


@torch.no_grad()
@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize("heads", [1, 2])
def test_a_model_read_in_another_way_shares_its_weights_and_stays_itself(
    preset: str, heads: int
) -> None:
    config = AttentionConfig(score="general", read="hard", heads=heads)
    model = model_of(preset, config)
    before = model.teacher_force(BATCH).features
    assert model.read_mode == "hard argmax"
    for decode in hard.DECODES:
        other = model.with_read_mode(decode, seed=3)
        assert other.read_mode == f"hard {decode}" and not other.training
        tensors = zip(model.parameters(), other.parameters(), strict=True)
        assert all(mine is yours for mine, yours in tensors)
        changed = dataclasses.replace(config, read_decode=decode, read_seed=3)
        expected = model_of(preset, changed).teacher_force(BATCH).features
        assert torch.equal(other.teacher_force(BATCH).features, expected)
    assert model.read_mode == "hard argmax" and torch.equal(
        model.teacher_force(BATCH).features, before
    )


def test_what_a_model_reads_is_said_and_a_soft_one_is_not_read_in_another_way() -> None:
    soft, none = (build(small_config(f"{name}-nano"), SIZES) for name in ("luong", "seq2seq"))
    assert (soft.read_mode, none.read_mode) == ("soft", "")
    for model in (soft, none):
        refused(lambda model=model: model.with_read_mode("argmax", seed=1), "not hard", "read=hard")
    refused(lambda: hard_model("luong-nano").with_read_mode("best", seed=1), "'best'", "argmax")


REINFORCE = AttentionLossConfig(entropy=0.0)
TWO_STEPS = pairs([3], [2])


def hard_model(family: str, heads: int = 1) -> EncoderDecoder:
    """A model with hard attention, sharp enough for its draws to matter."""
    torch.manual_seed(2)
    config = AttentionConfig(score="general", read="hard", read_soft=0.0, heads=heads)
    model = build(configured(family, config), SIZES).train()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += torch.randn_like(parameter) * 0.3
    return model


def token_losses(model: EncoderDecoder, batch: Batch, features: Tensor) -> tuple[Tensor, Tensor]:
    mask, output = batch.target_mask, model.output
    return LossSum(0.0).by_token(features[mask], batch.target_out[mask], output.weight, output.bias)


def repeated(batch: Batch, times: int) -> Batch:
    return batch.map(lambda part: part.expand(times, -1))


@pytest.mark.parametrize("preset", FAMILIES)
def test_reinforce_is_the_gradient_of_the_expected_likelihood(
    preset: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mean of many draws against the sum over all 9 ways to draw twice among 3 slots."""
    model = hard_model(preset)
    parameters = [p for name, p in model.named_parameters() if "attention" in name]
    parameters.append(model.encoder.rnn.weight_ih_l0)
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
    monkeypatch.setattr(hard, "drawn", lambda weights, place: next(steps)[:, None])
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
    assert float((plain - rewarded).detach()) == pytest.approx(0.5 * spread, abs=1e-3)
    _, first = AttentionLoss(REINFORCE, model)(forced, BATCH, nll, None)
    assert first == pytest.approx(-float(nll.mean()), abs=1e-5)


def test_soft_attention_adds_nothing_to_the_loss() -> None:
    model = model_of("rnnsearch-nano", AttentionConfig())
    forced = model.teacher_force(BATCH)
    assert AttentionLoss(AttentionLossConfig(), model)(forced, BATCH, torch.ones(3), 7.0) == (0, 7)


# coverage penalties


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


# what is refused


def refused(make: Callable[[], Any], *facts: str) -> None:
    with pytest.raises(ModelError) as error:
        make()
    message = str(error.value)
    assert "\n" not in message
    for fact in facts:
        assert fact in message, message


@pytest.mark.parametrize("preset", FAMILIES)
@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        ({"score": "dot"}, ["32", "16", "general", "heads", "bidirectional"]),
        ({"score": "scaled_dot"}, ["32", "16", "general"]),
        ({"heads": 3}, ["3 attention heads", "16"]),
        ({"heads": 0}, ["0 attention heads"]),
        ({"score": "location", "positions": 100}, ["100 slots", "512", "positions"]),
        ({"score": "location_aware", "filter_width": 4}, ["width 4", "odd"]),
        ({"score": "ffn", "depth": 0}, ["depth 0", "at least 1"]),
        ({"window": "local_p", "window_size": 0}, ["window_size 0", "at least 1"]),
        ({"window": "local_m", "window_size": 0}, ["window_size 0", "at least 1"]),
        ({"read": "hard", "read_decode": "best"}, ["'best'", "argmax"]),
        ({"read": "hard", "read_soft": 1.0}, ["read_soft", "below 1"]),
        ({"read": "hard", "read_mix": "picture"}, ["'picture'", "sentence"]),
        ({"read": "hard", "read_temperature": 0.0}, ["read_temperature", "above 0"]),
        *(
            ({"score": score, "coverage": True}, [score, "additive", "see"])
            for score in ("dot", "general", "cosine", "location", "ffn", "scaled_dot")
        ),
    ],
)
def test_what_cannot_work_is_refused_at_construction(
    preset: str, settings: dict[str, Any], facts: list[str]
) -> None:
    config = dataclasses.replace(small_config(preset), attention=AttentionConfig(**settings))
    refused(lambda: build(config, SIZES), *facts)


def test_penalties_that_have_nothing_to_hold_are_refused() -> None:
    see = AttentionLossConfig(coverage="see")
    without = build(small_config("seq2seq-nano"), SIZES)
    refused(lambda: AttentionLoss(see, without), "without attention")
    refused(lambda: AttentionLoss(see, hard_model("luong-nano")), "read 'hard'", "soft")
    unknown = AttentionLossConfig(coverage="sea")
    refused(lambda: AttentionLoss(unknown, without), "'sea'", "did you mean see")


# self-attention inside the recurrent encoder


def intra_config(preset: str) -> ModelConfig:
    return dataclasses.replace(small_config(preset), encoder_layers=2, encoder_attention="intra")


@torch.no_grad()
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_intra_attention_is_its_formula_written_out(cell: str) -> None:
    torch.manual_seed(1)
    layer = IntraRecurrence(3, 4, cell)
    x, score = torch.randn(1, 5, 3), layer.score
    summary = torch.zeros(1, layer.parts, 4)
    states: list[Tensor] = []
    for t in range(5):
        if t:
            query = score.query(torch.cat([x[0, t], summary[0, 0]]))  # of x_t and h~_{t-1}
            hidden = [(query + score.key(past[0, 0])).tanh() for past in states]
            powers = [math.exp(score.energy.dot(units)) for units in hidden]
            summary = torch.zeros(1, layer.parts, 4)
            for power, past in zip(powers, states, strict=True):
                summary += past * power / sum(powers)
        states.append(layer.step(x[:, t], summary))
    expected = torch.stack([state[:, 0] for state in states], 1)
    torch.testing.assert_close(layer(x), expected, **CLOSE)


@torch.no_grad()
@pytest.mark.parametrize("preset", [*FAMILIES, "seq2seq-nano"])
def test_intra_attention_leaves_the_same_memory_alone_and_in_a_batch(preset: str) -> None:
    torch.manual_seed(1)
    model = build(intra_config(preset), SIZES).eval()
    plain = build(dataclasses.replace(intra_config(preset), encoder_attention="none"), SIZES)
    memory = model.encode(BATCH.source, BATCH.source_mask)
    other = plain.eval().encode(BATCH.source, BATCH.source_mask)
    assert memory.final is not None and other.final is not None
    assert (memory.values.shape, memory.final.shape) == (other.values.shape, other.final.shape)
    for row in range(3):
        slots = int(BATCH.source_mask[row].sum())
        here = slice(row, row + 1)
        alone = model.encode(BATCH.source[here, :slots], BATCH.source_mask[here, :slots])
        assert alone.final is not None
        torch.testing.assert_close(memory.values[here, :slots], alone.values, **CLOSE)
        torch.testing.assert_close(memory.final[here], alone.final, **CLOSE)
    size = model.config.hidden  # <-h_1 stands at the end of the final states
    torch.testing.assert_close(memory.final[:, -size:], memory.values[:, 0, size:])


@pytest.mark.parametrize("preset", [*FAMILIES, "seq2seq-nano"])
def test_gradients_reach_every_parameter_of_intra_attention(preset: str) -> None:
    torch.manual_seed(1)
    model = build(intra_config(preset), SIZES).train()
    features = model.teacher_force(BATCH).features
    (model.output(features) * torch.randn(3, 6, VOCABULARY)).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None and parameter.grad.abs().sum() > 0, name


def test_an_unknown_encoder_attention_is_refused() -> None:
    config = dataclasses.replace(small_config("luong-nano"), encoder_attention="inter")
    refused(lambda: build(config, SIZES), "'inter'", "did you mean intra")
