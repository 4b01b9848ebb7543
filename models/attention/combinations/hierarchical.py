"""An attention to each memory, and a second attention to their contexts."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention, History, PreparedMemory, masked_softmax
from models.attention.combinations.base import Combination
from models.attention.heads import Heads, attention, read_values
from models.base.types import AttentionOutput, Memory
from models.config import AttentionConfig
from models.numerics.linear import Linear


class PreparedMemories(NamedTuple):
    """Several memories, each prepared for its attention."""

    each: tuple[PreparedMemory, ...]
    mask: Tensor  # (B, S) of all slots

    @property
    def values(self) -> Tensor:
        """The prepared values of the first memory."""
        return self.each[0].values


class Hierarchical(Combination):
    """Hierarchical: a context of each memory, then a distribution over these contexts.

    c^(k) = Attention_k(s, h^(k));  e^(k) = v^T tanh(W s + U^(k) c^(k))
    b = softmax over k of e^(k);  c = sum_k b^(k) U_c^(k) c^(k)
    Source: Libovický and Helcl 2017, eq. 7 to 10.
    The weight of a slot is b^(k) times its weight in its own memory. A memory without slots has
    b^(k) = 0.
    """

    def __init__(
        self, query_size: int, value_size: int, config: AttentionConfig, count: int
    ) -> None:
        super().__init__(query_size, value_size, config, count)
        self.attentions = nn.ModuleList(
            attention(query_size, value_size, config) for _ in range(count)
        )
        self.query = Linear(query_size, query_size)  # W
        self.keys = nn.ModuleList(  # U
            Linear(value_size, query_size, bias=False) for _ in range(count)
        )
        self.maps = nn.ModuleList(  # U_c
            Linear(value_size, value_size, bias=False) for _ in range(count)
        )
        self.score = Linear(query_size, 1, bias=False)  # v

    def prepare(self, memory: Memory) -> PreparedMemories:
        """Prepare each memory for its attention."""
        each = []
        for number, one in enumerate(self.attentions):
            assert isinstance(one, (Attention, Heads))
            each.append(one.prepare(_only(memory, number)))
        return PreparedMemories(tuple(each), memory.mask)

    def values(self, memory: Memory) -> Tensor:
        """Return the mapped values of each head, (B, H, S, V); slots of other memories are 0."""
        found = []
        for number, one in enumerate(self.attentions):
            assert isinstance(one, (Attention, Heads))
            own = _only(memory, number)
            values = read_values(one, own)  # (B, H, S, V)
            found.append(self.maps[number](values) * own.mask[:, None, :, None])
        return torch.stack(found).sum(0)

    def forward(
        self, query: Tensor, prepared: PreparedMemories, history: History | None = None
    ) -> AttentionOutput:
        """Read every memory with queries (B, T, Q), then their contexts."""
        pairs = zip(self.attentions, prepared.each, strict=True)
        reads: list[AttentionOutput] = [each(query, one) for each, one in pairs]
        asked = self.query(query)  # (B, T, Q)
        scores = [
            self.score((asked + key(read.context)).tanh())
            for key, read in zip(self.keys, reads, strict=True)
        ]
        real = torch.stack([one.mask.any(1) for one in prepared.each], -1)  # (B, K)
        shares = masked_softmax(torch.cat(scores, -1), real.unsqueeze(1))  # (B, T, K)
        parts = shares.unsqueeze(-1).unbind(2)  # K of (B, T, 1)
        contexts = [
            share * each(read.context)
            for share, each, read in zip(parts, self.maps, reads, strict=True)
        ]
        weights = [share * read.weights for share, read in zip(parts, reads, strict=True)]
        heads = [
            share.unsqueeze(-1) * read.heads
            for share, read in zip(parts, reads, strict=True)
            if read.heads is not None
        ]
        return AttentionOutput(
            torch.stack(contexts).sum(0),
            torch.stack(weights).sum(0),
            heads=torch.stack(heads).sum(0) if heads else None,
        )


def _only(memory: Memory, number: int) -> Memory:
    """Return a memory whose other parts are hidden."""
    assert memory.part is not None
    return memory._replace(mask=memory.mask & (memory.part == number))
