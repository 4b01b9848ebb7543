"""Nothing in view reads zero; sizes that do not fit are refused."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

from models.attention.base import Attention
from models.base.errors import ModelError
from models.base.registry import names
from models.base.types import Memory
from models.config import AttentionConfig
from tests.models.mechanisms import EQUAL_SIZES, cannot_move

COMPOSITIONS = [
    AttentionConfig(score=score, window=window, normalise=normalise, read=read)
    for score, window, normalise, read in itertools.product(
        names("score"), names("window"), names("normalise"), ["soft"]
    )
    if not cannot_move(window, normalise, read)
]


def sizes(score: str) -> tuple[int, int]:
    """Query and value size."""
    return (4, 4) if score in EQUAL_SIZES else (3, 4)


def composed(config: AttentionConfig) -> tuple[Attention, Tensor, Memory]:
    """Return an attention, queries (2, 3, Q), and a memory with 2 padded slots in sentence 1."""
    torch.manual_seed(1)
    query_size, value_size = sizes(config.score)
    attention = Attention(query_size, value_size, config)
    mask = torch.tensor([[True] * 3 + [False] * 2, [True] * 5])
    query = torch.randn(2, 3, query_size, requires_grad=True)
    return attention, query, Memory(torch.randn(2, 5, value_size, requires_grad=True), mask)


compositions = pytest.mark.parametrize(
    "config", COMPOSITIONS, ids=lambda c: f"{c.score}-{c.window}-{c.normalise}-{c.read}"
)


@pytest.mark.parametrize("name", sorted(EQUAL_SIZES))
def test_a_product_of_unequal_sizes_is_refused_in_one_line(name: str) -> None:
    with pytest.raises(ModelError) as refused:
        Attention(3, 4, AttentionConfig(score=name))
    message = str(refused.value)
    assert f"score '{name}'" in message and "3" in message and "4" in message
    assert "general" in message and "\n" not in message


@compositions
def test_a_query_with_nothing_in_view_reads_zero(config: AttentionConfig) -> None:
    attention, query, memory = composed(config)
    blind = memory._replace(mask=torch.tensor([[False] * 5, [True] * 5]))
    context, weights, *_ = attention(query, attention.prepare(blind))
    assert (context[0] == 0).all() and (weights[0] == 0).all() and (weights[1].sum(-1) > 0).all()
    context.sum().backward()
    assert query.grad is not None and query.grad.isfinite().all()


@pytest.mark.parametrize("score", ["additive", "general", "dot"])
def test_keys_of_another_size_are_refused_in_one_line(score: str) -> None:
    attention = Attention(4, 4, AttentionConfig(score=score))
    memory = Memory(torch.randn(2, 5, 4), torch.ones(2, 5, dtype=torch.bool))
    with pytest.raises(ModelError, match="keys of size 3; expected size 4"):
        attention.prepare(memory, torch.randn(2, 5, 3))
