"""Scores are their formulas, weights keep their promises, gradients arrive everywhere."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from models.attention.additive import Additive, AdditiveEnergy
from models.attention.base import Attention, Score, masked_softmax
from models.attention.concat import Concat
from models.attention.multihead import CrossAttention, MultiHead, SelfAttention
from models.config import AttentionConfig
from models.dropout import ByteDropout, Dropout, random_bytes
from models.errors import ModelError
from models.registry import find, names
from models.types import Memory

EQUAL_SIZES = {name for name in names("score") if find("score", name).equal}
PARTIAL = {"local_p"}  # windows whose weights may sum to less than one
COMPOSITIONS = [
    AttentionConfig(score=score, window=window, normalise=normalise, read=read)
    for score, window, normalise, read in itertools.product(
        names("score"), names("window"), names("normalise"), ["soft"]
    )
]
Vector = list[float]


def dot(a: Vector, b: Vector) -> float:
    assert len(a) == len(b)
    return sum(x * y for x, y in zip(a, b, strict=True))


def times(matrix: Tensor, vector: Vector) -> Vector:
    return [dot(row, vector) for row in matrix.tolist()]


def additive(s: Vector, h: Vector, score: Any) -> float:
    inner = zip(times(score.query.weight, s), times(score.key.weight, h), strict=True)
    biases = score.key.bias.tolist()
    return dot(
        score.energy.tolist(),
        [math.tanh(a + b + c) for (a, b), c in zip(inner, biases, strict=True)],
    )


def concat(s: Vector, h: Vector, score: Any) -> float:
    side_by_side = torch.cat([score.query.weight, score.key.weight], 1)  # W
    return dot(score.energy.tolist(), [math.tanh(x) for x in times(side_by_side, s + h)])


FORMULAS: dict[str, Callable[[Vector, Vector, Any], float]] = {
    "additive": additive,
    "concat": concat,
    "dot": lambda s, h, score: dot(s, h),
    "scaled_dot": lambda s, h, score: dot(s, h) / math.sqrt(len(h)),
    "general": lambda s, h, score: dot(s, times(score.key.weight, h)),
}


def sizes(score: str) -> tuple[int, int]:
    """Query and value size."""
    return (4, 4) if score in EQUAL_SIZES else (3, 4)


def composed(config: AttentionConfig) -> tuple[Attention, Tensor, Memory]:
    """An attention, queries (2, 3, Q), and a memory whose first sentence has 2 padded slots."""
    torch.manual_seed(1)
    query_size, value_size = sizes(config.score)
    attention = Attention(query_size, value_size, config)
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    query = torch.randn(2, 3, query_size, requires_grad=True)
    return attention, query, Memory(torch.randn(2, 5, value_size, requires_grad=True), mask)


compositions = pytest.mark.parametrize(
    "config", COMPOSITIONS, ids=lambda c: f"{c.score}-{c.window}-{c.normalise}-{c.read}"
)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_score_equals_its_formula_in_plain_loops(name: str) -> None:
    torch.manual_seed(1)
    query_size, key_size = sizes(name)
    score: Score = find("score", name)(query_size, key_size, AttentionConfig(score=name))
    query, values = torch.randn(2, 3, query_size), torch.randn(2, 5, key_size)
    scores = score(query, score.prepare(values))
    assert scores.shape == (2, 3, 5)
    for b, t, s in itertools.product(range(2), range(3), range(5)):
        expected = FORMULAS[name](query[b, t].tolist(), values[b, s].tolist(), score)
        assert scores[b, t, s].item() == pytest.approx(expected, abs=1e-5)


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


@pytest.mark.parametrize("name", sorted(EQUAL_SIZES))
def test_a_product_of_unequal_sizes_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ModelError) as refused:
        Attention(3, 4, AttentionConfig(score=name))
    message = str(refused.value)
    assert f"score '{name}'" in message and "3" in message and "4" in message
    assert "general" in message and "\n" not in message


@compositions
def test_padded_slots_weigh_exactly_nothing(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    attended = attention(query, attention.prepare(memory))
    assert attended.weights.shape == (2, 3, 5)
    assert (attended.weights[0, :, 3:] == 0).all()
    garbage = torch.where(memory.mask[..., None], memory.values, 100.0)
    again = attention(query, attention.prepare(memory._replace(values=garbage)))
    torch.testing.assert_close(again.context, attended.context)


@compositions
def test_the_weights_of_a_query_sum_to_one(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    weights = attention(query, attention.prepare(memory)).weights
    assert (weights >= 0).all()
    if config.window in PARTIAL:
        assert (weights.sum(-1) <= 1 + 1e-6).all()
    else:
        torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))


@compositions
def test_the_context_is_the_values_under_the_weights(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    context, weights, *_ = attention(query, attention.prepare(memory))
    for b, t, v in itertools.product(range(2), range(3), range(memory.values.shape[2])):
        expected = sum((weights[b, t, s] * memory.values[b, s, v]).item() for s in range(5))
        assert context[b, t, v].item() == pytest.approx(expected, abs=1e-6)


@compositions
def test_a_query_with_nothing_in_view_reads_zero(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    blind = memory._replace(mask=torch.tensor([[False] * 5, [True] * 5]))
    context, weights, *_ = attention(query, attention.prepare(blind))
    assert (context[0] == 0).all() and (weights[0] == 0).all() and (weights[1].sum(-1) > 0).all()
    context.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


@compositions
def test_gradients_reach_every_parameter_and_the_query(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    context = attention(query, attention.prepare(memory)).context
    (context * torch.randn_like(context)).sum().backward()
    reached = {**dict(attention.named_parameters()), "query": query, "values": memory.values}
    for name, tensor in reached.items():
        assert tensor.grad is not None and tensor.grad.isfinite().all(), name
        assert tensor.grad.abs().sum() > 0, name
    assert memory.values.grad is not None and (memory.values.grad[0, 3:] == 0).all()


def test_softmax_is_its_formula_over_the_slots_in_view() -> None:
    scores = torch.tensor([[[1.0, -2.0, 3.0, 1000.0]]])
    weights = masked_softmax(scores, torch.tensor([[[True, True, True, False]]]))
    total = math.exp(1) + math.exp(-2) + math.exp(3)
    expected = [math.exp(1) / total, math.exp(-2) / total, math.exp(3) / total, 0.0]
    torch.testing.assert_close(weights[0, 0], torch.tensor(expected))


def test_pooling_by_the_final_state_is_dot_attention_with_one_query() -> None:
    torch.manual_seed(1)
    outputs, (hidden, _) = nn.LSTM(3, 4, batch_first=True, bidirectional=True)(torch.randn(2, 5, 3))
    final = hidden.transpose(0, 1).flatten(1)  # (B, 8)
    weights = torch.bmm(outputs, final.unsqueeze(2)).squeeze(2).softmax(1)
    pooled = torch.bmm(outputs.transpose(1, 2), weights.unsqueeze(2)).squeeze(2)

    attention = Attention(8, 8, AttentionConfig(score="dot"))
    memory = Memory(outputs, torch.ones(2, 5, dtype=torch.bool))
    attended = attention(final[:, None], attention.prepare(memory))
    torch.testing.assert_close(attended.context[:, 0], pooled)
    torch.testing.assert_close(attended.weights[:, 0], weights)


def test_additive_energy_has_the_gradient_of_finite_differences() -> None:
    torch.manual_seed(1)
    inputs = [torch.randn(s, dtype=torch.float64) for s in [(2, 3, 4), (2, 5, 4), (4,)]]
    assert torch.autograd.gradcheck(AdditiveEnergy.apply, [x.requires_grad_() for x in inputs])


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.9])
def test_dropout_zeroes_its_share_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(1)
    x = torch.ones(1000, 401)
    y = ByteDropout.apply(x, rate)
    kept = y != 0
    share = round(256 * (1 - rate)) / 256
    assert float(kept.float().mean()) == pytest.approx(share, abs=0.003)
    assert float(kept.float().mean(0).std()) == pytest.approx(
        math.sqrt(share * (1 - share) / 1000), rel=0.15
    )  # every column alike: the 8 bytes of a draw are independent
    torch.testing.assert_close(y[kept], torch.full_like(y[kept], 1 / share))
    assert not torch.equal(y, ByteDropout.apply(x, rate))


@pytest.mark.parametrize("rate", [0.0005, 0.001, 0.0019])
def test_dropout_too_rare_for_a_byte_keeps_everything(rate: float) -> None:
    assert torch.equal(ByteDropout.apply(torch.ones(1000), rate), torch.ones(1000))


def test_the_gradient_of_dropout_goes_through_what_was_kept() -> None:
    torch.manual_seed(1)
    x = torch.randn(50, 7, requires_grad=True)
    y = ByteDropout.apply(x, 0.4)
    y.backward(torch.full_like(y, 2.0))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, 2 * y.detach() / x.detach())


def test_dropout_does_nothing_in_evaluation_and_nothing_at_zero() -> None:
    x = torch.randn(100)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0).train()(x) is x
    assert not torch.equal(Dropout(0.5).train()(x), x)


def test_random_bytes_are_uniform_in_every_place() -> None:
    torch.manual_seed(1)
    draws = random_bytes(8 * 50_000).view(-1, 8).long()
    for bit in range(8):
        shares = ((draws >> bit) & 1).float().mean(0)
        torch.testing.assert_close(shares, torch.full((8,), 0.5), atol=0.012, rtol=0)
    assert len(random_bytes(3)) == 3


def head_by_head(
    attention: MultiHead, matrices: list[Tensor], biases: list[Tensor], x: Tensor, memory: Tensor
) -> tuple[Tensor, Tensor]:
    """[head_1; ...; head_H] W_O and the weights, from W^Q, W^K and W^V, one head at a time."""
    queries, keys, values = (
        source @ matrix.T + bias
        for source, matrix, bias in zip((x, memory, memory), matrices, biases, strict=True)
    )
    size = x.shape[-1] // attention.heads
    heads, weights = [], []
    for head in range(attention.heads):
        part = slice(head * size, (head + 1) * size)
        scores = queries[..., part] @ keys[..., part].mT / math.sqrt(size)
        weights.append(scores.softmax(-1))
        heads.append(weights[-1] @ values[..., part])
    return attention.output(torch.cat(heads, -1)), torch.stack(weights, 1)


def test_cross_attention_is_its_heads_written_out() -> None:
    torch.manual_seed(1)
    attention = CrossAttention(12, 3, 0.0).eval()
    assert attention.query is not None
    x, memory, mask = torch.randn(2, 4, 12), torch.randn(2, 5, 12), torch.ones(2, 5).bool()
    matrices = [attention.query.weight, *attention.input.weight.chunk(2)]
    biases = [attention.query.bias, *attention.input.bias.chunk(2)]
    expected, weights = head_by_head(attention, matrices, biases, x, memory)
    prepared = attention.prepare(memory)
    torch.testing.assert_close(attention(x, prepared, mask), expected)
    torch.testing.assert_close(attention.weights_of(x, prepared, mask), weights)


def test_self_attention_is_pytorchs_own() -> None:
    torch.manual_seed(1)
    ours, theirs = SelfAttention(12, 3, 0.0).eval(), nn.MultiheadAttention(12, 3, batch_first=True)
    theirs.load_state_dict(
        {
            "in_proj_weight": ours.input.weight,
            "in_proj_bias": ours.input.bias,
            "out_proj.weight": ours.output.weight,
            "out_proj.bias": ours.output.bias,
        }
    )
    x, mask = torch.randn(2, 5, 12), torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    causal = torch.ones(5, 5).bool().triu(1)
    both_ways, _ = theirs(x, x, x, key_padding_mask=~mask, need_weights=False)
    one_way, _ = theirs(x, x, x, attn_mask=causal, need_weights=False)
    torch.testing.assert_close(ours(x, mask)[0], both_ways)
    torch.testing.assert_close(ours(x)[0], one_way)


@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_kernel_equals_the_sums_written_out(causal: bool) -> None:
    torch.manual_seed(1)
    attention = SelfAttention(12, 3, 0.0)
    x = torch.randn(2, 5, 12)
    mask = None if causal else torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    fused = attention.eval()(x, mask)[0]
    written_out = attention.train()(x, mask)[0]
    torch.testing.assert_close(fused, written_out)


def test_attention_dropout_drops_weights_while_training_only() -> None:
    torch.manual_seed(1)
    attention, x = SelfAttention(12, 3, 0.5), torch.randn(2, 5, 12)
    assert not torch.equal(attention.train()(x)[0], attention(x)[0])
    assert torch.equal(attention.eval()(x)[0], attention(x)[0])


def test_self_attention_step_by_step_equals_all_at_once() -> None:
    torch.manual_seed(1)
    attention, x = SelfAttention(12, 3, 0.0).eval(), torch.randn(2, 5, 12)
    past, steps = None, []
    for t in range(5):
        output, past = attention(x[:, t : t + 1], None, past)
        steps.append(output)
    torch.testing.assert_close(torch.cat(steps, 1), attention(x)[0])


def test_heads_that_do_not_divide_the_size_are_refused_in_one_line() -> None:
    with pytest.raises(ModelError, match="5 heads over a size of 12") as refused:
        SelfAttention(12, 5, 0.0)
    assert "\n" not in str(refused.value)


def test_the_additive_size_is_the_queries_unless_it_is_given() -> None:
    config = AttentionConfig()
    assert Additive(3, 4, config).energy.shape == (3,)
    assert Additive(3, 4, dataclasses.replace(config, size=7)).energy.shape == (7,)
