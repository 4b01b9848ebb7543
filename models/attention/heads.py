"""Several heads for any score; each head has its own share of the features.

head_i = Attention_i(Q_i s, K_i h, V_i h),  context = [head_1; ..; head_H]
                                         Vaswani et al. 2017, section 3.2.2

There is no output matrix W_O, because the recurrent decoders apply a matrix to the context first,
and the product of two matrices is one matrix.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.attention.base import Attention, History, PreparedMemory
from models.base.errors import ConfigurationError
from models.base.types import AttentionOutput, Memory
from models.config.tables import AttentionConfig
from models.numerics.deferred import DeferredLinear
from models.numerics.linear import Linear


def attention(query_size: int, value_size: int, config: AttentionConfig) -> Attention | Heads:
    """Build the configured attention, with one head or several."""
    kind = Attention if config.heads == 1 else Heads
    return kind(query_size, value_size, config)


class PreparedHeads(NamedTuple):
    """Memory prepared for every head."""

    heads: tuple[PreparedMemory, ...]

    @property
    def mask(self) -> Tensor:
        """Mask of the real slots (B, S)."""
        return self.heads[0].mask

    def select(self, rows: Tensor) -> PreparedHeads:
        """Return the prepared memory of some sentences."""
        return PreparedHeads(tuple(head.select(rows) for head in self.heads))


class HeadsHistory(NamedTuple):
    """Every head's history."""

    heads: tuple[History, ...]

    def select(self, rows: Tensor) -> HeadsHistory:
        """Return some hypotheses, in the given order."""
        return HeadsHistory(tuple(head.select(rows) for head in self.heads))


class Heads(nn.Module):
    """Several attentions in parallel, over projections of query, keys and values.

    Query and keys are projected to the query's size and split, so they have equal sizes for every
    score. The values are projected and split, and the contexts are concatenated.
    """

    def __init__(self, query_size: int, value_size: int, config: AttentionConfig) -> None:
        super().__init__()
        count = config.heads
        for size, what in ((query_size, "a query"), (value_size, "values")):
            if count < 1 or size % count:
                raise ConfigurationError(
                    f"{count} attention heads over {what} of {size}",
                    "a size that the heads divide evenly",
                    "set model.attention.heads",
                )
        self.query = DeferredLinear(query_size, query_size, bias=False)
        self.value = Linear(value_size, value_size, bias=False)
        one, size = dataclasses.replace(config, heads=1), query_size // count
        heads = [Attention(size, size, one) for _ in range(count)]
        self.heads = nn.ModuleList(heads)
        self.max_slots = heads[0].max_slots
        uses_keys = heads[0].score.uses_keys
        self.key = Linear(value_size, query_size, bias=False) if uses_keys else nn.Identity()

    def prepare(self, memory: Memory) -> PreparedHeads:
        """Compute every head's keys and values of a memory, once per source."""
        keys, values = self._split(self.key(memory.values)), self._split(self.value(memory.values))
        parts = zip(self.heads, keys, values, strict=True)
        return PreparedHeads(
            tuple(head.prepare(memory._replace(values=v), k) for head, k, v in parts)  # type: ignore[operator]
        )

    def begin(self, prepared: PreparedHeads) -> HeadsHistory | None:
        """Return the histories before the first query; None if unused."""
        parts = zip(self.heads, prepared.heads, strict=True)
        begun = [head.begin(part) for head, part in parts]  # type: ignore[operator]
        if begun[0] is None:
            return None
        random = begun[0].random  # one per sentence; the head number is added
        return HeadsHistory(tuple(h._replace(random=random + n) for n, h in enumerate(begun)))

    def forward(
        self, query: Tensor, prepared: PreparedHeads, history: HeadsHistory | None = None
    ) -> AttentionOutput:
        """Read the memory with queries (B, T, Q); the weights are the heads' mean."""
        pasts = [None] * len(self.heads) if history is None else history.heads
        parts = zip(self.heads, self._split(self.query(query)), prepared.heads, pasts, strict=True)
        return joined([head(part, memory, past) for head, part, memory, past in parts])

    def _split(self, x: Tensor) -> tuple[Tensor, ...]:
        return x.chunk(len(self.heads), -1)


def joined(heads: list[AttentionOutput]) -> AttentionOutput:
    """Join the outputs of all heads; samples of several heads are independent."""
    context, weights, log_prob, entropy, history, _ = zip(*heads, strict=True)
    each = torch.stack(weights, 2)  # (B, T, H, S)
    return AttentionOutput(
        torch.cat(context, -1),
        each.mean(2),
        None if log_prob[0] is None else torch.stack(log_prob).sum(0),
        None if entropy[0] is None else torch.stack(entropy).sum(0),
        None if history[0] is None else HeadsHistory(history),
        each,
    )
