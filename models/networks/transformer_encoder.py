"""Encoders of self-attention blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, interpolate

from models.attention.layers import Embedding, FeedForward, NormedLayer, normalisation
from models.attention.mixing import mixing
from models.attention.positions import position
from models.core.config import BlocksConfig, ImageConfig
from models.core.errors import ConfigurationError, InputError, intact
from models.core.numerics import Linear, normal_weights
from models.core.types import Memory
from models.networks.config import VisionTransformerConfig
from models.networks.edgetpu import Cnn, copy_weights
from models.networks.image_encoder import ImageEncoder

SIZE = 16  # default side of a patch in pixels


class TransformerEncoder(nn.Module):
    """Token ids to a memory with one slot per token."""

    def __init__(self, embedding: Embedding, config: BlocksConfig) -> None:
        super().__init__()
        self.embedding = embedding
        self.position = position(config, in_attention=False)
        self.embedding_norm = normalisation(config, present=config.embedding_norm)
        self.dropout = nn.Dropout(config.dropout)
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

    def __init__(self, config: Any) -> None:
        """Build it with settings of blocks and of an image."""
        super().__init__(config)
        size, (rows, columns) = config.embedding, self.grid
        config = replace(config, position="none")  # cells have rows and columns
        self.project = Linear(self.value_size, size)
        self.row_embedding = normal_weights(rows, 1, size, deviation=0.02)
        self.column_embedding = normal_weights(1, columns, size, deviation=0.02)
        self.dropout = nn.Dropout(config.dropout)
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

    def __init__(self, config: BlocksConfig) -> None:
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


class VisionTransformer(Cnn):
    """Vision Transformer: patches, row by row, and a class token that they attend to.

    x_0 = [c; W a_1 + b; ..; W a_N + b] + P, then pre-norm Transformer layers, GELU, FFN of 4 V
    Source: Dosovitskiy, Beyer, Kolesnikov et al. 2021, section 3.1.
    model.image.grid is the side of a patch in pixels (empty: 16). Sizes: model.image.width, layers,
    heads, class_tokens.
    """

    def __init__(self, config: VisionTransformerConfig) -> None:
        super().__init__()
        side = int(config.grid) if config.grid.isdecimal() else 0 if config.grid else SIZE
        if side < 1 or config.size % side:
            raise ConfigurationError(
                f"grid '{config.grid}' of patches in images of {config.size} pixels",
                "the side of a patch in pixels, a divisor of the image's side",
            )
        self.class_slots = 0 if config.project else config.class_tokens
        self.cells, self.width, first = config.size // side, config.width, config.class_tokens
        self.patch = normal_weights(config.width, 3, side, side, deviation=side**-1)  # W
        self.patch_bias = nn.Parameter(torch.zeros(config.width))
        self.class_embedding = normal_weights(first, config.width, deviation=0.02)  # c
        self.position_embedding = normal_weights(
            first + self.cells**2, config.width, deviation=0.02
        )
        layer = BlocksConfig(
            embedding=config.width,
            hidden=4 * config.width,
            heads=config.heads,
            position="none",
            dropout=0.0,
            activation="gelu",
            norm_epsilon=config.norm_epsilon,
        )
        self.layers = nn.ModuleList(EncoderLayer(layer) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width, config.norm_epsilon)

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, h / p, w / p) of images (B, 3, h, w).

        With model.image.project=false all slots (B, V, 1, S), those of class tokens first.
        """
        x = conv2d(images, self.patch, self.patch_bias, stride=self.patch.shape[-1])
        rows, x = x.shape[2:], x.flatten(2).mT  # (B, N, V)
        x = torch.cat([self.class_embedding.expand(len(x), -1, -1), x], 1)
        x = x + self._positions(*rows)
        mask = torch.ones(x.shape[:2], dtype=torch.bool, device=x.device)
        for layer in self.layers:
            x = layer(x, mask)
        x = self.norm(x).mT  # (B, V, S)
        if self.class_slots:
            return x.unsqueeze(2)
        return x[:, :, len(self.class_embedding) :].unflatten(2, rows)

    def _positions(self, rows: int, columns: int) -> Tensor:
        """Return positions (S, V), interpolated for an image of another size."""
        first = len(self.class_embedding)
        if rows == columns == self.cells:
            return self.position_embedding
        grid = self.position_embedding[first:].mT.unflatten(1, (self.cells, -1))[None]
        other = interpolate(grid, (rows, columns), mode="bicubic", align_corners=False)
        return torch.cat([self.position_embedding[:first], other[0].flatten(1).mT])

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features of a slot, and rows and columns of the patches."""
        return self.width, self.cells, self.cells

    def load(self, weights: str) -> None:
        """Load weights from a safetensors file with the names of this network."""
        from safetensors.torch import load_file

        with intact(Path(weights), "weights of a vision Transformer in safetensors"):
            stored: Mapping[str, Tensor] = load_file(weights)
        copy_weights(self, stored, weights)
