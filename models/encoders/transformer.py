"""Transformer encoder: self-attention and feed-forward blocks, pre-norm.

x <- x + SelfAttention(LayerNorm(x));  x <- x + FFN(LayerNorm(x))
Vaswani et al. 2017, section 3.1; pre-norm as in Xiong et al. 2020
"""

from __future__ import annotations

from torch import Tensor, nn

from models.attention.mixing import mixing
from models.attention.positions.base import position
from models.base.types import Memory
from models.config.tables import ModelConfig
from models.layers import Embedding, FeedForward
from models.numerics.dropout import Dropout


class TransformerEncoder(nn.Module):
    """Token ids to a memory with one slot per token."""

    def __init__(self, embedding: Embedding, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position(config, in_attention=False)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = nn.LayerNorm(config.embedding)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S)."""
        x = self.embedding(source)  # (B, S, D)
        x = self.dropout(self.position.added(x, 0))
        for layer in self.layers:
            x = layer(x, mask)
        return Memory(self.norm(x), mask)


class EncoderLayer(nn.Module):
    """One self-attention block and one feed-forward block."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        size = config.embedding
        self.attention_norm = nn.LayerNorm(size)
        self.attention = mixing(config, decodes=False)
        self.forward_norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(size, config.hidden, config.dropout)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map x (B, S, D) to (B, S, D)."""
        attended, _ = self.attention(self.attention_norm(x), mask)
        x = x + self.dropout(attended)
        x = x + self.dropout(self.feed_forward(self.forward_norm(x)))
        return x
