"""Transformer encoders of texts and of images: self-attention and feed-forward blocks.

x <- x + SelfAttention(LayerNorm(x));  x <- x + FFN(LayerNorm(x))
Vaswani et al. 2017, section 3.1; pre-norm as in Xiong et al. 2020, unless model.norm=post
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from models.attention.mixing import mixing
from models.attention.positions.base import position
from models.base.errors import InputError
from models.base.types import Memory
from models.config import ModelConfig
from models.encoders.image import ImageEncoder
from models.layers import Embedding, FeedForward, NormedLayer, normalisation
from models.numerics.dropout import Dropout
from models.numerics.linear import Linear


class TransformerEncoder(nn.Module):
    """Token ids to a memory with one slot per token."""

    def __init__(self, embedding: Embedding, config: ModelConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position(config, in_attention=False)
        self.embedding_norm = normalisation(config, present=config.embedding_norm)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.norm = normalisation(config, present=config.norm == "pre")

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of ids (B, S) with mask (B, S)."""
        x = self.embedding(source)  # (B, S, D)
        x = self.dropout(self.embedding_norm(self.position.added(x, 0)))
        for layer in self.layers:
            x = layer(x, mask)
        return Memory(self.norm(x), mask)


class ImageTransformerEncoder(ImageEncoder):
    """Images, or precomputed features, to a memory of S cells with D features.

    x_rc = W a_rc + row_r + column_c;  then `encoder_layers` self-attention blocks
    Source: Vaswani et al. 2017; positions in two dimensions as in Parmar et al. 2018, learned here.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        size, (rows, columns) = config.embedding, self.grid
        config = replace(config, position="none")  # cells have rows and columns
        self.project = Linear(self.value_size, size)
        self.row_embedding = nn.Parameter(torch.randn(rows, 1, size) * 0.02)
        self.column_embedding = nn.Parameter(torch.randn(1, columns, size) * 0.02)
        self.dropout = Dropout(config.dropout)
        self.layers = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.last_norm = nn.LayerNorm(size)

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of images (B, 3, h, w) or features (B, S, V), mask (B, S)."""
        memory = super().forward(source, mask)
        places = (self.row_embedding + self.column_embedding).flatten(0, 1)  # (rows * columns, D)
        count = memory.values.shape[1]
        if count > len(places):
            raise InputError(
                f"{count} cells", f"{len(places)}, of a grid of {self.grid[0]} x {self.grid[1]}"
            )
        x = self.dropout(self.project(memory.values) + places[:count])
        for layer in self.layers:
            x = layer(x, mask)
        return memory._replace(values=self.last_norm(x), final=None)


class EncoderLayer(NormedLayer):
    """One self-attention block and one feed-forward block."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        size = config.embedding
        self.attention_norm = normalisation(config)
        self.attention = mixing(config, decodes=False)
        self.forward_norm = normalisation(config)
        self.feed_forward = FeedForward(size, config.hidden, config.dropout, config.activation)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """Map x (B, S, D) to (B, S, D)."""
        attended, _ = self.attention(self.entered(self.attention_norm, x), mask)
        x = self.left(self.attention_norm, x, attended)
        block = self.feed_forward(self.entered(self.forward_norm, x))
        return self.left(self.forward_norm, x, block)
