"""Combinations of several memories."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention, PreparedMemory, is_monotonic, uses_coverage
from models.attention.multihead import Heads, HeadsOutput, attention, read_values
from models.attention.softmax import History, masked_softmax
from models.attention.transformer import composition
from models.core.attention_config import AttentionConfig
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.registry import find
from models.core.types import AttentionOutput, Memory
from models.several_inputs.config import MultiSourceTransformerConfig


class Combination(nn.Module):
    """Attention to K memories, whose values have one size.

    The memories are one `Memory` whose slots are numbered through all of them; its `part` (B, S) is
    the number of the memory of each slot. The weights (B, T, S) of a combination are therefore
    those of one attention, and search, alignment and explanation do not distinguish the memories.
    """

    def __init__(
        self, query_size: int, value_size: int, config: AttentionConfig, count: int
    ) -> None:
        super().__init__()
        check_combined(config)

    def prepare(self, memory: Memory) -> Any:
        """Prepare the memories, once per source.

        The result has `values` (B, ..) and `mask` (B, S).
        """
        raise NotImplementedError

    def values(self, memory: Memory) -> Tensor:
        """Return what the weights of each head multiply, (B, H, S, V)."""
        raise NotImplementedError

    def begin(self, prepared: Any) -> None:
        """Return None: no part of the attention depends on earlier steps."""

    def forward(
        self, query: Tensor, prepared: Any, history: History | None = None
    ) -> AttentionOutput:
        """Read the memories with queries (B, T, Q); the weights (B, T, S) sum to 1 over all."""
        raise NotImplementedError


class MemoryMaps(nn.Module):
    """A linear map for each memory, applied to its slots: W^(k) h_j^(k)."""

    def __init__(self, count: int, value_size: int, size: int) -> None:
        super().__init__()
        self.maps = nn.ModuleList(Linear(value_size, size, bias=False) for _ in range(count))

    def forward(self, values: Tensor, part: Tensor) -> Tensor:
        """Return the mapped values (B, S, size) of slots (B, S, V) of the memories `part`."""
        mapped = [
            each(values) * (part == number).unsqueeze(-1) for number, each in enumerate(self.maps)
        ]
        return torch.stack(mapped).sum(0)


def check_combined(config: AttentionConfig) -> None:
    """Raise ConfigurationError for parts of an attention that need the order of one memory."""
    score = find("score", config.score) if config.score else None
    needs_order = score is not None and (score.sequential or not score.uses_keys)
    order = "whose slots have no common order"
    refused = {
        "window": (config.window != "global", order, "global"),
        "read": (config.read != "soft", "of which one slot would be read alone", "soft"),
        "score": (needs_order, order, "additive"),
        "normalise": (is_monotonic(config), order, "softmax"),
        "coverage": (uses_coverage(config), "which have no weights of earlier steps", "false"),
    }
    for name, (wrong, reason, nearest) in refused.items():
        if wrong:
            value = str(getattr(config, name)).lower()
            raise ConfigurationError(
                f"model.attention.{name}={value} with several inputs, {reason}",
                f"model.attention.{name}={nearest}",
            )


class Flat(Combination):
    """Flat: one distribution over the slots of all memories.

    a = softmax over all k, j of F(s, U^(k) h_j^(k));  c = sum_k sum_j a_j^(k) U_c^(k) h_j^(k)
    Source: Libovický and Helcl 2017, eq. 4 to 6.
    F is any score, which may map the keys once more; the paper's is additive.
    """

    def __init__(
        self, query_size: int, value_size: int, config: AttentionConfig, count: int
    ) -> None:
        super().__init__(query_size, value_size, config, count)
        self.key_maps = MemoryMaps(count, value_size, query_size)  # U
        self.value_maps = MemoryMaps(count, value_size, value_size)  # U_c
        self.attention = attention(query_size, value_size, config, key_size=query_size)

    def prepare(self, memory: Memory) -> PreparedMemory:
        """Map the slots of each memory, and prepare them as those of one."""
        return self.attention.prepare(*self._mapped(memory))

    def values(self, memory: Memory) -> Tensor:
        """Return the mapped values of each head, (B, H, S, V)."""
        return read_values(self.attention, *self._mapped(memory))

    def _mapped(self, memory: Memory) -> tuple[Memory, Tensor]:
        """Return the memory with mapped values, and its keys."""
        assert memory.part is not None
        values = self.value_maps(memory.values, memory.part)
        return memory._replace(values=values), self.key_maps(memory.values, memory.part)

    def forward(
        self, query: Tensor, prepared: PreparedMemory, history: History | None = None
    ) -> AttentionOutput:
        """Read the slots of all memories with queries (B, T, Q)."""
        return self.attention(query, prepared, history)


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
        real = torch.stack([seen(one) for one in prepared.each], -1)  # (B, 1 or T, K)
        shares = masked_softmax(torch.cat(scores, -1), real)  # (B, T, K)
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


def seen(memory: PreparedMemory) -> Tensor:
    """Return True for queries that can see a slot of a memory, (B, 1 or T)."""
    mask = memory.mask.unsqueeze(1)
    allowed = None if memory.looks is None else memory.looks.allowed()
    return (mask if allowed is None else mask & allowed).any(-1)


def _only(memory: Memory, number: int) -> Memory:
    """Return a memory whose other parts are hidden."""
    assert memory.part is not None
    return memory._replace(mask=memory.mask & (memory.part == number))


class CombinedCrossAttention(nn.Module):
    """Attention of the decoder to several memories: a combination, and an output map.

    W_O Combination(x, h^(1), .., h^(K))
    Source: Libovický, Helcl and Mareček 2018, section 3.
    """

    def __init__(self, config: MultiSourceTransformerConfig, value_size: int = 0) -> None:
        """Build it; value_size is not used; see CrossAttention."""
        super().__init__()
        size = config.embedding
        kind = find("combination", config.combination)
        own = composition(config, "attention")
        self.combination = kind(size, size, own, len(config.inputs))
        self.output = Linear(size, size)

    def prepare(self, memory: Memory) -> Any:
        """Prepare the memories; the result has `values` and `mask`."""
        return self.combination.prepare(memory)

    def read_values(self, memory: Memory) -> Tensor:
        """Return what each head's weights multiply (B, H, S, D), output map included."""
        return self.combination.values(memory) @ self.output.weight.mT

    def forward(
        self, x: Tensor, memory: Any, mask: Tensor, **steps: Any
    ) -> tuple[Tensor, HeadsOutput]:
        """Compute the output (B, T, D) for x (B, T, D), and what the heads did.

        mask, steps: not used; see CrossAttention.
        """
        found: AttentionOutput = self.combination(x, memory)
        each = found.weights.unsqueeze(2) if found.heads is None else found.heads  # (B, T, H, S)
        return self.output(found.context), HeadsOutput(found.context[:, None], each.transpose(1, 2))
