"""Image encoder of a Transformer: cells projected to the model's size, with learned positions.

x_rc = W a_rc + row_r + column_c;  then `encoder_layers` self-attention blocks
Source: Vaswani et al. 2017; positions in two dimensions as in Parmar et al. 2018, learned here.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from models.base.errors import InputError
from models.base.types import Memory
from models.config.tables import ModelConfig
from models.encoders.image import ImageEncoder
from models.encoders.transformer import EncoderLayer
from models.numerics.dropout import Dropout
from models.numerics.linear import Linear


class ImageTransformerEncoder(ImageEncoder):
    """Images, or precomputed features, to a memory of S cells with D features."""

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
