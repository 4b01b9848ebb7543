"""Mixing of tokens in a Transformer: attention, linear attention, average."""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import elu

from models.attention.layers import FeedForward
from models.attention.multihead import split
from models.core.attention_config import SelfAttentionConfig
from models.core.config import BlocksConfig
from models.core.errors import ConfigurationError
from models.core.numerics import Linear
from models.core.registry import find

DEFAULT = "attention"
SMALLEST = 1e-6  # added to the denominator, as in the authors' program


class Cache(Protocol):
    """What a mixing keeps of the prefix: tensors with one row per hypothesis."""

    @property
    def length(self) -> int:
        """Number of tokens of the prefix."""


class Sums(NamedTuple):
    """Cache of a fixed size: sums over the tokens of the prefix."""

    parts: tuple[Tensor, ...]  # (B, ..) each, in float32
    read: Tensor  # (B, t) ones: one per token of the prefix

    @property
    def length(self) -> int:
        """Number of tokens of the prefix."""
        return self.read.shape[1]

    def after(self, parts: tuple[Tensor, ...], steps: int) -> Sums:
        """Return these sums after more tokens."""
        new = self.read.new_ones(self.read.shape[0], steps)
        return Sums(parts, torch.cat([self.read, new], 1))


def mixing(config: BlocksConfig, *, decodes: bool) -> nn.Module:
    """Build what mixes the tokens of a layer of the encoder, or of the decoder if it decodes.

    Raises ConfigurationError for settings of model.self_attention or positions that it cannot read.
    """
    kind = find("mixing", config.mixing)
    if config.mixing == DEFAULT or (kind.decodes_only and not decodes):
        kind = find("mixing", DEFAULT)
        return kind(config)
    if find("position", config.position).in_attention:
        raise ConfigurationError(
            f"model.position={config.position} with model.mixing={config.mixing}, which has no "
            "scores of pairs of tokens",
            "model.position=sinusoidal or learned",
        )
    if not kind.decodes_only and config.self_attention != SelfAttentionConfig():
        raise ConfigurationError(
            f"settings of model.self_attention with model.mixing={config.mixing}, which has its "
            "own score",
            "the defaults of model.self_attention",
            "or model.mixing=attention",
        )
    return kind(config)


class LinearAttention(nn.Module):
    """Linear: attention by a feature map; every decoding step needs the same memory.

    v'_t = phi(q_t)^T S_t / (phi(q_t)^T z_t);  S_t = sum phi(k_i) v_i^T, z_t = sum phi(k_i)
    Source: Katharopoulos, Vyas, Pappas, Fleuret 2020, eq. 5, 9 to 12 and 16 to 20.
    The sums go over all tokens in an encoder and over the prefix in a decoder. Training computes
    products of all pairs of target tokens, which is faster than the sums for sentences. Positions
    must be added to the embeddings, and there is no dropout of weights.
    """

    decodes_only = False

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__()
        size, self.count = config.embedding, config.heads
        if size % self.count:
            raise ConfigurationError(
                f"{self.count} attention heads over features of {size}",
                "a size that the heads divide evenly",
                "set model.heads",
            )
        self.input = Linear(size, 3 * size)  # Q; K; V at once
        self.output = Linear(size, size)

    def empty(self, values: Tensor) -> Sums:
        """Return sums over no tokens, for the rows of values (B, ..)."""
        size = self.output.weight.shape[0] // self.count
        rows = values.shape[0]
        # float32, because sums over a long prefix lose small terms in bf16
        sums = values.new_zeros(rows, self.count, size, size, dtype=torch.float32)
        return Sums((sums, sums[..., 0]), values.new_zeros(rows, 0, dtype=torch.float32))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Sums | None = None
    ) -> tuple[Tensor, Sums]:
        """Compute the output (B, T, D), and the sums after it.

        Without a mask, token t reads the prefix and itself. With a mask (B, S), each reads all.
        With a past, T must be 1.
        """
        query, keys, values = (split(part, self.count) for part in self.input(x).chunk(3, -1))
        query, keys, values = mapped(query), mapped(keys), values.float()  # (B, H, T, d)
        if mask is not None:
            keys = keys * mask[:, None, :, None]
        past = self.empty(values) if past is None else past
        sums, total = past.parts
        sums, total = sums + keys.mT @ values, total + keys.sum(2)
        if mask is None and x.shape[1] > 1:
            # products of all pairs, because for sentences they are faster than running sums
            weights = (query @ keys.mT).tril()  # (B, H, T, T)
            found = weights @ values / (weights.sum(-1, keepdim=True) + SMALLEST)
        else:
            found = query @ sums / ((query * total.unsqueeze(2)).sum(-1, keepdim=True) + SMALLEST)
        merged = found.to(x.dtype).transpose(1, 2).flatten(2)
        return self.output(merged), past.after((sums, total), x.shape[1])


def mapped(x: Tensor) -> Tensor:
    """Return the features phi(x) = elu(x) + 1 in float32; all are positive."""
    # positive, so that the denominator cannot be 0 or change its sign
    return elu(x.float()) + 1


class AverageAttention(nn.Module):
    """Average: the mean of the prefix in place of a decoder's self-attention (AAN).

    h_t = i_t * y_t + f_t * g_t;  g_t = FFN(mean of y_1 .. y_t);  i_t, f_t = sigmoid(W [y_t; g_t])
    Source: Zhang, Xiong, Su 2018, eq. 1 to 4.
    Decoding needs one sum in place of a cache. The encoder keeps its self-attention, as in the
    paper. Positions must be added to the embeddings.
    """

    decodes_only = True

    def __init__(self, config: BlocksConfig) -> None:
        super().__init__()
        size = config.embedding
        self.feed_forward = FeedForward(size, config.hidden, config.dropout)
        self.gates = Linear(2 * size, 2 * size)  # W

    def empty(self, values: Tensor) -> Sums:
        """Return a sum over no tokens, for the rows of values (B, ..)."""
        rows, size = values.shape[0], self.gates.weight.shape[0] // 2
        total = values.new_zeros(rows, size, dtype=torch.float32)
        return Sums((total,), values.new_zeros(rows, 0, dtype=torch.float32))

    def forward(
        self, x: Tensor, mask: Tensor | None = None, past: Sums | None = None
    ) -> tuple[Tensor, Sums]:
        """Compute the output (B, T, D) of tokens that follow the past, and the sum after it."""
        assert mask is None, "a decoder sees the prefix only"
        past = self.empty(x[:, None]) if past is None else past
        sums = past.parts[0].unsqueeze(1) + x.float().cumsum(1)  # (B, T, D)
        seen = past.after((sums[:, -1],), x.shape[1])
        # a tensor of ones stands for the length, because hypotheses are selected by rows of tensors
        counts = seen.read.cumsum(1)[:, -x.shape[1] :, None]
        average = self.feed_forward((sums / counts).to(x.dtype))
        keep, read = self.gates(torch.cat([x, average], -1)).sigmoid().chunk(2, -1)
        return keep * x + read * average, seen
