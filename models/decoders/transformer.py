"""Transformer decoder: causal self-attention, cross-attention, feed-forward; pre-norm.

Keys and values of the prefix are cached in the state; keys and values of the memory are computed
once.
Vaswani et al. 2017, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from models.attention.multihead import CrossAttention, KeyValue, SelfAttention
from models.base.types import Memory
from models.config.tables import ModelConfig
from models.decoders.alignment_layer import AlignmentLayer
from models.decoders.base import Decoder, DecoderOutput, default_layer
from models.layers.blocks import Embedding, FeedForward, positions
from models.numerics.dropout import Dropout


class TransformerMemory(NamedTuple):
    """Keys and values of the memory for every layer."""

    layers: tuple[KeyValue, ...]
    mask: Tensor  # (B, S)
    values: Tensor | None = None  # (B, S, D) of an alignment layer, if there is one

    def select(self, rows: Tensor) -> TransformerMemory:
        """Return the prepared memory of some sentences."""
        layers = tuple(layer.select(rows) for layer in self.layers)
        values = None if self.values is None else self.values.index_select(0, rows)
        return TransformerMemory(layers, self.mask.index_select(0, rows), values)


class TransformerState(NamedTuple):
    """Keys and values of the prefix for every layer, without slots before the first token."""

    layers: tuple[KeyValue, ...]

    @property
    def length(self) -> int:
        """Number of tokens before the next one."""
        return self.layers[0].keys.shape[2]

    def select(self, rows: Tensor) -> TransformerState:
        """Return some hypotheses, in the given order."""
        return TransformerState(tuple(layer.select(rows) for layer in self.layers))

    def pasts(self) -> Sequence[KeyValue | None]:
        """Return what each layer has seen, or None before the first token."""
        return self.layers if self.length else [None] * len(self.layers)


class TransformerDecoder(Decoder[TransformerMemory, TransformerState]):
    """Target prefix and memory to features."""

    def __init__(self, embedding: Embedding, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.dropout = Dropout(config.dropout)
        layers = [DecoderLayer(config) for _ in range(config.decoder_layers)]
        self.layers = nn.ModuleList(layers)
        self.norm = nn.LayerNorm(config.embedding)
        self.aligner: AlignmentLayer | None = None
        if config.alignment_layer:
            self.aligner = AlignmentLayer(config.embedding, config.heads)
        self.attention_shape = (config.decoder_layers + config.alignment_layer, config.heads)

    @property
    def shown_layer(self) -> int:
        """The layer whose weights are shown by default; never the alignment layer."""
        return default_layer(len(self.layers))

    def prepare(self, memory: Memory) -> TransformerMemory:
        """Compute keys and values of the memory for every layer."""
        layers = tuple(layer.cross_attention.prepare(memory.values) for layer in self.layers)  # type: ignore
        return TransformerMemory(layers, memory.mask, memory.values if self.aligner else None)

    def start(self, prepared: TransformerMemory) -> TransformerState:
        """Return the state of an empty prefix."""
        return TransformerState(tuple(layer.without_slots() for layer in prepared.layers))

    def advance(
        self,
        tokens: Tensor,
        state: TransformerState,
        prepared: TransformerMemory,
        *,
        want_weights: bool = False,
        want_heads: Sequence[int] = (),
    ) -> DecoderOutput:
        """Read tokens (R, T). With a prefix in the state, T must be 1."""
        read = x = self.embedding(tokens)  # (R, T, D)
        x = self.dropout(x + positions(state.length, x.shape[1], x.shape[2], x.device))
        shown = [self.shown_layer] if want_weights else []
        seen, found, states = [], {}, []
        for index, (layer, past) in enumerate(zip(self.layers, state.pasts(), strict=True)):
            wanted = index in shown or index in want_heads
            x, cached, heads = layer(x, past, prepared.layers[index], prepared.mask, wanted)
            seen.append(cached)
            states.append(x)
            if heads is not None:  # (B, H, K * T, S)
                by_row = heads.unflatten(2, (-1, tokens.shape[1])).transpose(1, 2)
                found[index] = by_row.flatten(0, 1)  # (R, H, T, S)
        if self.aligner and len(self.layers) in want_heads:
            assert prepared.values is not None
            found[len(self.layers)] = self.aligner(read, states[0], prepared.values, prepared.mask)
        return DecoderOutput(
            self.norm(x),
            TransformerState(tuple(seen)),
            found[shown[0]].mean(1) if shown else None,
            heads=torch.stack([found[index] for index in want_heads], 1) if want_heads else None,
        )


class DecoderLayer(nn.Module):
    """One block each of self-attention, cross-attention and feed-forward."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        size, dropout = config.embedding, config.attention_dropout
        self.self_norm = nn.LayerNorm(size)
        self.self_attention = SelfAttention(size, config.heads, dropout)
        self.cross_norm = nn.LayerNorm(size)
        self.cross_attention = CrossAttention(size, config.heads, dropout)
        self.forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, config.hidden, config.dropout)
        self.dropout = Dropout(config.dropout)

    def forward(
        self, x: Tensor, past: KeyValue | None, memory: KeyValue, mask: Tensor, want_weights: bool
    ) -> tuple[Tensor, KeyValue, Tensor | None]:
        """Return the output (R, T, D), the cache, and weights (B, H, K * T, S) if wanted."""
        attended, seen = self.self_attention(self.self_norm(x), None, past)
        x = x + self.dropout(attended)
        query = self.cross_norm(x).reshape(mask.shape[0], -1, x.shape[2])  # (B, K * T, D)
        x = x + self.dropout(self.cross_attention(query, memory, mask)).view(x.shape)
        weights = None
        if want_weights:
            weights = self.cross_attention.weights_of(query, memory, mask)
        return x + self.dropout(self.feed_forward(self.forward_norm(x))), seen, weights
