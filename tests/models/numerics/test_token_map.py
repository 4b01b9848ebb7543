"""Maps of tokens from a table equal those that are computed each time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch
from torch import Tensor

from models.layers.blocks import Embedding
from models.numerics.token_map import EmbeddedTokens, TokenMap, TokenTable


def counted(layer: TokenMap) -> list[int]:
    """Return a list that records the number of tokens of each call of a layer."""
    counts, original = list[int](), layer.forward

    def forward(x: Tensor) -> Tensor:
        counts.append(len(x))
        return original(x)

    layer.forward = forward  # type: ignore[method-assign]
    return counts


@torch.inference_mode()
def test_a_table_computes_each_token_once() -> None:
    torch.manual_seed(1)
    embedding = Embedding(9, 5, scale=2.0)
    layer = TokenMap(embedding, 4)
    original = layer.forward
    table, computed = TokenTable(layer), counted(layer)
    for ids in ([[3, 4]], [[4], [5]], [[3], [5]]):
        tokens = EmbeddedTokens(torch.tensor(ids), embedding(torch.tensor(ids)))
        torch.testing.assert_close(table(tokens), original(tokens.vectors))
    assert computed == [2, 1]


def test_each_thread_has_a_table_of_its_own() -> None:
    """An output may differ by rounding if another thread's tokens are computed with it."""
    embedding = Embedding(9, 5)
    layer = TokenMap(embedding, 4)
    table, computed = TokenTable(layer), counted(layer)

    def read(ids: list[int]) -> None:
        with torch.inference_mode():
            tokens = torch.tensor([ids])
            table(EmbeddedTokens(tokens, embedding(tokens)))

    read([3, 4])
    with ThreadPoolExecutor(1) as thread:
        thread.submit(read, [3, 5]).result()
    read([4, 5])
    assert computed == [2, 2, 1]


@torch.inference_mode()
def test_the_table_is_not_used_in_training_mode() -> None:
    embedding = Embedding(9, 5)
    layer, ids = TokenMap(embedding, 4), torch.tensor([[3]])
    layer.table = TokenTable(layer)
    layer.eval().of_tokens(EmbeddedTokens(ids, embedding(ids)))
    other = torch.randn(1, 1, 5)  # as dropout changes it
    assert torch.equal(layer.train().of_tokens(EmbeddedTokens(ids, other)), layer(other))
