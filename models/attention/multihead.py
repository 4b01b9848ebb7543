"""Multi-head attention of the Transformer: scaled dot products in parallel subspaces.

    MultiHead(Q, K, V) = [head_1; ...; head_H] W_O
    head_i = softmax(Q W_i^Q (K W_i^K)^T / sqrt(d)) V W_i^V     Vaswani et al. 2017, section 3.2.2

A fused kernel computes the output. Plain operations compute the weights if they are requested; a
test checks that both agree.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from models.attention.base import masked_softmax
from models.base.errors import ConfigurationError
from models.numerics.dropout import Dropout
from models.numerics.linear import Linear


class KeyValue(NamedTuple):
    """Projected keys and values, split into heads."""

    keys: Tensor  # (B, H, S, d)
    values: Tensor  # (B, H, S, d)

    def select(self, rows: Tensor) -> KeyValue:
        """Return some rows, in the given order."""
        return KeyValue(self.keys.index_select(0, rows), self.values.index_select(0, rows))

    def without_slots(self) -> KeyValue:
        """Return no slots of the same rows and heads."""
        return KeyValue(self.keys[:, :, :0], self.values[:, :, :0])

    def followed_by(self, other: KeyValue) -> KeyValue:
        """Return these slots and then those of another."""
        return KeyValue(*(torch.cat(pair, 2) for pair in zip(self, other, strict=True)))


class MultiHead(nn.Module):
    """Multi-head scaled dot attention with input and output projections."""

    def __init__(self, size: int, heads: int, dropout: float, *, fused_input: bool) -> None:
        super().__init__()
        if size % heads:
            raise ConfigurationError(
                f"{heads} heads over a size of {size}", "a size that the heads divide evenly"
            )
        self.heads = heads
        self.query = None if fused_input else Linear(size, size)
        self.input = Linear(size, (3 if fused_input else 2) * size)  # [Q;] K; V at once
        self.output = Linear(size, size)
        self.dropout = Dropout(dropout)

    def split(self, x: Tensor, parts: int) -> tuple[Tensor, ...]:
        """Split (B, T, parts * D) into `parts` tensors (B, H, T, d)."""
        batch, length, _ = x.shape
        return x.view(batch, length, parts, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)

    def merged(self, x: Tensor) -> Tensor:
        """Merge heads (B, H, T, d) by the output projection to (B, T, D)."""
        output: Tensor = self.output(x.transpose(1, 2).flatten(2))
        return output

    def attend(
        self, query: Tensor, memory: KeyValue, mask: Tensor | None, *, causal: bool = False
    ) -> Tensor:
        """Compute contexts (B, H, T, d); the mask is (B, 1, 1, S) or None."""
        if not self.training or query.device.type != "cpu":
            rate = self.dropout.rate if self.training else 0.0
            return scaled_dot_product_attention(
                query, *memory, attn_mask=mask, dropout_p=rate, is_causal=causal
            )
        # the fused kernel's backward pass is slow on a CPU for sentences of ordinary length
        weights = self.weights(query, memory, mask, causal=causal)
        contexts: Tensor = self.dropout(weights).to(memory.values.dtype) @ memory.values
        return contexts

    def weights(
        self, query: Tensor, memory: KeyValue, mask: Tensor | None, *, causal: bool = False
    ) -> Tensor:
        """Compute attention weights (B, H, T, S) with plain operations."""
        scores = query @ memory.keys.mT * query.shape[-1] ** -0.5
        real = scores.new_ones((), dtype=torch.bool) if mask is None else mask
        if causal:
            real = real & torch.ones_like(scores[0, 0], dtype=torch.bool).tril()
        return masked_softmax(scores, real)


class SelfAttention(MultiHead):
    """Self-attention; in stepwise decoding it also attends to the cached prefix."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__(size, heads, dropout, fused_input=True)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: KeyValue | None = None
    ) -> tuple[Tensor, KeyValue]:
        """Compute the output (B, T, D), and all keys and values so far.

        Without mask and past, the attention is causal. With a mask (B, S), it attends in both
        directions. With a past, T must be 1.
        """
        query, *rest = self.split(self.input(x), 3)
        new = KeyValue(*rest)
        seen = new if past is None else past.followed_by(new)
        slots = None if mask is None else mask[:, None, None]
        causal = mask is None and past is None and x.shape[1] > 1
        return self.merged(self.attend(query, seen, slots, causal=causal)), seen


class CrossAttention(MultiHead):
    """Attention of the decoder to the memory, whose keys and values are computed once."""

    def __init__(self, size: int, heads: int, dropout: float) -> None:
        super().__init__(size, heads, dropout, fused_input=False)

    def prepare(self, values: Tensor) -> KeyValue:
        """Compute keys and values of the memory (B, S, D)."""
        return KeyValue(*self.split(self.input(values), 2))

    def forward(self, x: Tensor, memory: KeyValue, mask: Tensor) -> Tensor:
        """Compute the output (B, T, D) for x (B, T, D); the mask is (B, S)."""
        assert self.query is not None
        (query,) = self.split(self.query(x), 1)
        return self.merged(self.attend(query, memory, mask[:, None, None]))

    def weights_of(self, x: Tensor, memory: KeyValue, mask: Tensor) -> Tensor:
        """Return the weights (B, H, T, S) that `forward` uses."""
        assert self.query is not None
        (query,) = self.split(self.query(x), 1)
        return self.weights(query, memory, mask[:, None, None])
