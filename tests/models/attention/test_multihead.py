"""Multi-head attention equals its heads written out, and PyTorch's own."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from models.attention.multihead import Heads
from models.attention.transformer import CrossAttention, SelfAttention
from models.core.attention_config import (
    AttentionConfig,
    SelfAttentionConfig,
    TransformerAttentionConfig,
)
from models.core.types import Memory
from models.networks.config import TransformerConfig


def of(size: int, heads: int) -> TransformerConfig:
    return TransformerConfig(embedding=size, heads=heads)


@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_kernel_equals_the_sums_written_out(causal: bool) -> None:
    torch.manual_seed(1)
    attention = SelfAttention(of(12, 3))
    x = torch.randn(2, 5, 12)
    mask = None if causal else torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    fused = attention.eval()(x, mask)[0]
    written_out = attention.train()(x, mask)[0]
    torch.testing.assert_close(fused, written_out)


def grouped_by_loops(attention: SelfAttention, x: Tensor) -> Tensor:
    """Return causal self-attention of one sentence (T, D): one query, head and slot at a time."""
    size = attention.split(x[None]).shape[-1]
    asked, keys, values = attention.input(x).split(attention.sizes, -1)
    rows = []
    for t in range(len(x)):
        contexts = []
        for head in range(attention.count):
            of_query = slice(head * size, head * size + size)
            group = head * attention.shared // attention.count
            of_group = slice(group * size, group * size + size)
            products = [asked[t, of_query] @ keys[i, of_group] for i in range(t + 1)]
            shares = [math.exp(float(product) / math.sqrt(size)) for product in products]
            pairs = zip(shares, values[:, of_group], strict=False)
            contexts.append(sum(share * value for share, value in pairs) / sum(shares))
        rows.append(torch.cat(contexts))
    return attention.output(torch.stack(rows))


@pytest.mark.parametrize("shared", [1, 2, 4])
@pytest.mark.parametrize("score", ["", "general"])
@torch.no_grad()
def test_grouped_heads_share_keys_and_values_and_cache_only_those(shared: int, score: str) -> None:
    torch.manual_seed(1)
    own = SelfAttentionConfig(kv_heads=shared, score=score)
    attention = SelfAttention(TransformerConfig(embedding=12, heads=4, self_attention=own)).eval()
    x = torch.randn(2, 5, 12)
    whole, seen = attention(x)
    if not score:
        for found, row in zip(whole, x, strict=True):
            torch.testing.assert_close(found, grouped_by_loops(attention, row))
        assert seen.keys.shape == (2, shared, 5, 3)
    assert seen.values.shape == (2, shared, 5, 3)
    past, steps = attention.empty(torch.randn(2, 4, 7, 3)), []
    for t in range(5):
        output, past = attention(x[:, t : t + 1], None, past)
        steps.append(output)
    torch.testing.assert_close(torch.cat(steps, 1), whole)


@torch.no_grad()
def test_recurrent_heads_that_share_equal_heads_with_the_same_keys_and_values() -> None:
    torch.manual_seed(1)
    one, all_ = (Heads(8, 12, AttentionConfig.of(heads=4, kv_heads=n)) for n in (2, 0))
    state = one.state_dict()
    for name, count in (("key.weight", 2), ("value.weight", 3)):
        state[name] = state[name].unflatten(0, (-1, count)).repeat_interleave(2, 0).flatten(0, 1)
    all_.load_state_dict(state)
    memory, query = Memory(torch.randn(2, 5, 12), torch.ones(2, 5).bool()), torch.randn(2, 3, 8)
    found, expected = (part(query, part.prepare(memory)) for part in (one, all_))
    torch.testing.assert_close(found.context, expected.context)


@pytest.mark.parametrize("shared", [0, 1, 2])
@torch.no_grad()
def test_values_under_the_weights_of_cross_attention_make_its_output(shared: int) -> None:
    torch.manual_seed(1)
    config = TransformerConfig(
        embedding=12, heads=4, attention=TransformerAttentionConfig.of(kv_heads=shared)
    )
    attention, x = CrossAttention(config).eval(), torch.randn(2, 3, 12)
    memory = Memory(torch.randn(2, 5, 12), torch.ones(2, 5).bool())
    prepared = attention.prepare(memory)
    found, heads = attention(x, prepared, memory.mask, want_weights=True)
    mixed = torch.einsum("bhts,bhsd->btd", heads.weights, attention.read_values(memory))
    torch.testing.assert_close(found, mixed + attention.output.bias)
