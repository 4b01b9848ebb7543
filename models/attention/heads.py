"""Several heads of a recurrent decoder or a pooling.

There is no output matrix W_O, because the recurrent decoders apply a matrix to the context first,
and the product of two matrices is one matrix.
"""

from __future__ import annotations

import torch
from torch import Tensor

from models.attention.base import Attention, PreparedMemory, input_keys
from models.attention.multihead import KeyValue, MultiHead, Visible
from models.attention.softmax import History, grouped
from models.base.types import AttentionOutput, Memory
from models.config import AttentionConfig
from models.numerics import Linear


def attention(
    query_size: int, value_size: int, config: AttentionConfig, *, key_size: int | None = None
) -> Attention | Heads:
    """Build the configured attention, with one head or several; keys default to the values."""
    kind = Attention if config.heads == 1 else Heads
    return kind(query_size, value_size, config, key_size=key_size)


def read_values(attention: Attention | Heads, memory: Memory, keys: Tensor | None = None) -> Tensor:
    """Return what the weights of each head multiply, (B, H, S, V), in the size of the context."""
    values = attention.prepare(memory, keys).values
    return values.unsqueeze(1) if values.dim() == 3 else concatenated(values)


def concatenated(values: Tensor) -> Tensor:
    """Return values (B, H, S, V) of each head at its place in the context, (B, H, S, H * V)."""
    count = values.shape[1]
    places = torch.eye(count, dtype=values.dtype, device=values.device)
    return torch.einsum("bhsv,hk->bhskv", values, places).flatten(3)


class Heads(MultiHead):
    """Several attentions in parallel, over projections of query, keys and values.

    Query and keys are projected to the query's size and split, so they have equal sizes for every
    score. The values are projected and split, and the contexts are concatenated.
    """

    def __init__(
        self,
        query_size: int,
        value_size: int,
        config: AttentionConfig,
        *,
        key_size: int | None = None,
    ) -> None:
        super().__init__(query_size, value_size, config)
        self.query = Linear(query_size, query_size, bias=False)
        value, key = (size // self.count * self.shared for size in (value_size, query_size))
        self.value = Linear(value_size, value, bias=False)
        uses_keys = self.first.score.uses_keys
        self.key = Linear(key_size or value_size, key, bias=False) if uses_keys else None

    def prepare(self, memory: Memory, keys: Tensor | None = None) -> PreparedMemory:
        """Compute every head's keys and values of a memory; `keys` default to its values."""
        values = self.split_shared(self.value(memory.values))
        own = (
            values
            if self.key is None
            else self.split_shared(self.key(memory.values if keys is None else keys))
        )
        return PreparedMemory(*self.prepared(own, values), memory.mask, input_keys(memory))

    def begin(self, prepared: PreparedMemory) -> History | None:
        """Return the histories before the first query; None if unused."""
        first = self.first.begin(prepared)
        return None if first is None else first.for_heads(self.count)

    def forward(
        self, query: Tensor, prepared: PreparedMemory, history: History | None = None
    ) -> AttentionOutput:
        """Read the memory with queries (B, T, Q); the weights are the heads' mean."""
        past = grouped(self.begin(prepared) if history is None else history, query)
        slots, visible = KeyValue(prepared.keys, prepared.values), Visible(prepared.mask)
        found = self.attend(self.split(self.query(query)), slots, visible, past, want_weights=True)
        assert found.weights is not None
        each = found.weights.transpose(1, 2)  # (B, T, H, S)
        return AttentionOutput(
            found.context.transpose(1, 2).flatten(2),
            each.mean(2),
            found.log_prob,
            found.entropy,
            None if past is None else past.after(each, found.position),
            each,
        )
