"""A prefix never changes, whatever is written after it."""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.few_queries import KeyValue, attend_few, padding_bias
from models.attention.multihead import CrossAttention
from models.attention.prefix import BLOCK, Prefix


def slot() -> KeyValue:
    return KeyValue(torch.randn(3, 2, 1, 4), torch.randn(3, 2, 1, 4))


def keys(prefix: Prefix) -> Tensor:
    return prefix.seen.keys.clone()


def test_two_continuations_of_one_prefix_keep_their_own_slots() -> None:
    torch.manual_seed(1)
    first = slot()
    with torch.inference_mode():
        prefix, expected = Prefix.of(first), first.keys
        for _ in range(2 * BLOCK):
            one, other, before = slot(), slot(), keys(prefix)
            left, right = prefix.extended(one), prefix.extended(other)
            assert torch.equal(keys(left), torch.cat([expected, one.keys], 2))
            assert torch.equal(keys(right), torch.cat([expected, other.keys], 2))
            assert torch.equal(keys(prefix), before)
            prefix, expected = left, keys(left)


def test_slots_are_written_in_place_while_there_is_room() -> None:
    with torch.inference_mode():
        prefix = Prefix.of(slot()).extended(slot())
        assert prefix.extended(slot()).slots is prefix.slots


def test_a_prefix_is_reordered_by_select() -> None:
    rows = torch.tensor([2, 0, 0, 1])
    with torch.inference_mode():
        prefix = Prefix.of(slot()).extended(slot())
        assert torch.equal(keys(prefix.select(rows)), keys(prefix)[rows])


def test_few_queries_equal_the_fused_kernel_on_short_and_long_memories() -> None:
    torch.manual_seed(1)
    attention = CrossAttention(12, 3, 0.0).eval()
    for slots, queries in ((5, 4), (40, 4), (5, 1), (120, 1)):
        memory, x = torch.randn(2, slots, 12), torch.randn(2, queries, 12)
        mask = torch.arange(slots) < torch.tensor([[slots - 2], [slots]])
        expected = attention(x, attention.prepare(memory), mask)  # with gradients: fused
        with torch.inference_mode():
            prepared = attention.prepare(memory, mask)
            assert prepared.bias is not None
            assert torch.equal(prepared.bias, padding_bias(mask, 3))
            torch.testing.assert_close(attention(x, prepared, mask), expected)
            query = torch.randn(2, 3, queries, 4)
            weights = (query @ prepared.keys.mT / 2 + prepared.bias).softmax(-1)
            torch.testing.assert_close(attend_few(query, prepared), weights @ prepared.values)
