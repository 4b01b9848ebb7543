"""Several heads of any composition, each with its own share of the features.

head_i = Attention_i(Q_i s, K_i h, V_i h),  output = W_O [head_1; ..; head_H]
                                         Vaswani et al. 2017, section 3.2.2

With fewer heads of keys and values than of queries, G < H, head i reads keys and values of head
floor(i G / H), and a cache holds G heads (grouped queries, Ainslie et al. 2023; G = 1: multi-query,
Shazeer 2019, section 3). A score that maps its keys, such as general, caches H mapped keys.

A fused kernel computes the composition of scaled dot products, softmax, the global window and the
soft read. Plain operations compute its weights if they are wanted; a test checks that both agree.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.attention.base import (
    Attention,
    PreparedMemory,
    WindowOutput,
    input_keys,
    kv_heads,
)
from models.attention.normalisers import Softmax
from models.attention.reads import Soft
from models.attention.scores import ScaledDot
from models.attention.softmax import History, grouped, masked_softmax
from models.attention.windows import Global
from models.core.attention_config import AttentionConfig
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.types import AttentionOutput, Looks, Memory

FUSED = (ScaledDot, Global, Softmax, Soft)


class KeyValue(NamedTuple):
    """Prepared keys and values of every head; G heads where several heads share them."""

    keys: Tensor  # (B, H or G, S, K)
    values: Tensor  # (B, G, S, V)

    @property
    def length(self) -> int:
        """Number of slots."""
        return self.keys.shape[2]


class Visible(NamedTuple):
    """The slots that queries can see, and an addition to their scores."""

    mask: Tensor | None  # (B, S); None: every slot
    causal: bool = False  # query t sees the first t + 1 slots only
    bias: Tensor | None = None  # (B or 1, H, T, S)
    looks: Looks | None = None  # slots that a person has chosen; see Memory

    def slots(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return a mask (B or 1, T or 1, S) for queries (.., T, Q) and keys (.., S, K)."""
        if self.mask is not None:
            return self.mask[:, None]
        every = torch.ones(query.shape[-2], keys.shape[-2], dtype=torch.bool, device=query.device)
        return (every.tril() if self.causal else every)[None]

    def looked(self, query: Tensor, keys: Tensor) -> Tensor:
        """Return the mask of `slots`, (B or 1, T or 1, S), without what the looks exclude."""
        mask = self.slots(query, keys)
        return WindowOutput(mask).looked(self.looks, mask).slots


class HeadsOutput(NamedTuple):
    """Result of several heads."""

    context: Tensor  # (B, H, T, V)
    weights: Tensor | None  # (B, H, T, S); can be None if they are not wanted
    log_prob: Tensor | None = None  # (B, T) of the sampled slots of all heads, in training
    entropy: Tensor | None = None  # (B, T) of the distributions they were sampled from
    position: Tensor | None = None  # (B, T, H, S) where a monotonic normaliser has stopped


class MultiHead(nn.Module):
    """Several attentions in parallel, over queries, keys and values that a subclass projects."""

    def __init__(self, query_size: int, value_size: int, config: AttentionConfig) -> None:
        super().__init__()
        self.count = count = config.heads
        for size, what in ((query_size, "a query"), (value_size, "values")):
            if count < 1 or size % count:
                raise ConfigurationError(
                    f"{count} attention heads over {what} of {size}",
                    "a size that the heads divide evenly",
                    "set model.attention.heads, in a Transformer model.heads",
                )
        self.shared = kv_heads(config)
        one, size = replace(config, heads=1, kv_heads=0), query_size // count
        heads = [Attention(size, size, one) for _ in range(count)]
        self.heads = nn.ModuleList(heads)
        self.max_slots, self.needs_history = heads[0].max_slots, heads[0].needs_history
        # by exact types: a subclass computes other weights than the fused kernel
        self.fused = tuple(map(type, heads[0].parts)) == FUSED and not config.null_slot

    @property
    def each(self) -> list[Attention]:
        """The attention of each head."""
        return [head for head in self.heads if isinstance(head, Attention)]

    @property
    def first(self) -> Attention:
        """The attention of the first head."""
        return self.each[0]

    def split(self, x: Tensor) -> Tensor:
        """Split the features of queries x (B, T, H * d): (B, H, T, d)."""
        return split(x, self.count)

    def split_shared(self, x: Tensor) -> Tensor:
        """Split the features of keys or values x (B, S, G * d): (B, G, S, d)."""
        return split(x, self.shared)

    def prepared(self, keys: Tensor, values: Tensor) -> KeyValue:
        """Prepare keys and values (B, G, S, d) for every head."""
        if not self.fused:
            pairs = zip(self.each, repeated(keys, self.count).unbind(1), strict=True)
            # shared heads are repeated first, because each head's score has parameters of its own
            keys = torch.stack([head.keys(part) for head, part in pairs], 1)
        return KeyValue(keys, values)

    def attend(
        self,
        query: Tensor,
        slots: KeyValue,
        visible: Visible,
        past: History | None = None,
        *,
        want_weights: bool = False,
    ) -> HeadsOutput:
        """Read slots with queries (B, H, T, d); past: (B, T, H, ..), if the heads need it."""
        slots = KeyValue(*(repeated(part, self.count) for part in slots))
        if self.fused:
            return self._fused(query, slots, visible, want_weights)
        mask, outputs = visible.slots(query, slots.keys), []
        for number, head in enumerate(self.each):
            keys, values = slots.keys[:, number], slots.values[:, number]
            memory = PreparedMemory(keys, values, mask, mask, visible.looks)
            one = None if past is None else past.head(number)
            bias = None if visible.bias is None else visible.bias[:, number]
            outputs.append(head.attend(query[:, number], memory, one, bias))
        return joined(outputs)

    def _fused(
        self, query: Tensor, slots: KeyValue, visible: Visible, want_weights: bool
    ) -> HeadsOutput:
        if self.training and query.device.type == "cpu":
            # the fused kernel's backward pass is slow on a CPU for sentences of ordinary length
            weights = plain_weights(query, slots, visible)
            values = slots.values
            return HeadsOutput(weights.to(values.dtype) @ values, weights)
        mask, causal = visible.mask, visible.causal
        hidden = None if mask is None else mask[:, None, None]
        if visible.looks is not None:
            hidden = visible.looked(query, slots.keys)[:, None]
        if visible.bias is not None:
            hidden = visible.bias.masked_fill(
                ~visible.slots(query, slots.keys)[:, None], -torch.inf
            )
        context = scaled_dot_product_attention(
            query,
            *slots,
            attn_mask=hidden,
            # the kernel refuses a mask together with is_causal
            is_causal=causal and hidden is None,
        )
        # the kernel returns no weights, so they are computed again where something reads them
        return HeadsOutput(context, plain_weights(query, slots, visible) if want_weights else None)


def split(x: Tensor, heads: int) -> Tensor:
    """Split the features of x (B, T, H * d): (B, H, T, d)."""
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def repeated(x: Tensor, heads: int) -> Tensor:
    """Repeat each of G heads of x (B, G, S, d) H / G times: (B, H, S, d)."""
    if x.shape[1] == heads:
        return x
    # neighbours share a head of keys, as in torch's own grouped attention (enable_gqa)
    each = x.unsqueeze(2).expand(-1, -1, heads // x.shape[1], -1, -1)
    return each.flatten(1, 2)


def plain_weights(query: Tensor, slots: KeyValue, visible: Visible) -> Tensor:
    """Compute the weights (B, H, T, S) of the fused composition with plain operations."""
    scores = query @ slots.keys.mT * query.shape[-1] ** -0.5
    if visible.bias is not None:
        scores = scores + visible.bias
    return masked_softmax(scores, visible.looked(query, slots.keys)[:, None])


def joined(heads: list[AttentionOutput]) -> HeadsOutput:
    """Join the outputs of all heads; samples of several heads are independent."""
    context, weights, log_prob, entropy, *_, position = zip(*heads, strict=True)
    return HeadsOutput(
        torch.stack(context, 1),
        torch.stack(weights, 1),
        # the heads' samples are independent, so the log-probabilities add up
        None if log_prob[0] is None else torch.stack(log_prob).sum(0),
        None if entropy[0] is None else torch.stack(entropy).sum(0),
        None if position[0] is None else torch.stack(position, 2),
    )


def attention(
    query_size: int, value_size: int, config: AttentionConfig, *, key_size: int | None = None
) -> Attention | Heads:
    """Build the configured attention, with one head or several; keys default to the values."""
    kind = Attention if config.heads == 1 else Heads
    return kind(query_size, value_size, config, key_size=key_size)


def read_values(attention: Attention | Heads, memory: Memory, keys: Tensor | None = None) -> Tensor:
    """Return what the weights of each head multiply, (B, H, S, V), in the size of the context."""
    values = attention.prepare(memory, keys).values
    if isinstance(attention, Attention):
        return values.unsqueeze(1)
    return concatenated(repeated(values, attention.count))


def concatenated(values: Tensor) -> Tensor:
    """Return values (B, H, S, V) of each head at its place in the context, (B, H, S, H * V)."""
    count = values.shape[1]
    # weights of a head times these values, summed over the heads, give the context itself
    places = torch.eye(count, dtype=values.dtype, device=values.device)
    return torch.einsum("bhsv,hk->bhskv", values, places).flatten(3)


class Heads(MultiHead):
    """Several attentions in parallel, over projections of query, keys and values.

    Query and keys are projected to the query's size and split, so they have equal sizes for every
    score. The values are projected and split, and the contexts are concatenated. There is no output
    matrix W_O, because the recurrent decoders apply a matrix to the context first.
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
        prepared = self.prepared(own, values)
        return PreparedMemory(*prepared, memory.mask, input_keys(memory), memory.looks)

    def begin(self, prepared: PreparedMemory) -> History | None:
        """Return the histories before the first query; None if unused."""
        first = self.first.begin(prepared)
        return None if first is None else first.for_heads(self.count)

    def forward(
        self, query: Tensor, prepared: PreparedMemory, history: History | None = None
    ) -> AttentionOutput:
        """Read the memory with queries (B, T, Q); the weights are the heads' mean."""
        past = grouped(self.begin(prepared) if history is None else history, query)
        slots = KeyValue(prepared.keys, prepared.values)
        visible = Visible(prepared.mask, looks=prepared.looks)
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
