"""Vision Transformer: patches of an image as tokens of a Transformer's encoder.

x_0 = [c; W a_1 + b; ..; W a_N + b] + P;  x <- x + SelfAttention(LayerNorm(x));  x <- x + FFN(..)
Dosovitskiy et al. 2021, section 3.1
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, interpolate

from models.base.errors import ConfigurationError, intact
from models.config import ImageConfig, ModelConfig
from models.encoders.cnn import Cnn, copy_weights
from models.encoders.transformer import EncoderLayer

SIZE = 16  # default side of a patch in pixels


class VisionTransformer(Cnn):
    """Vision Transformer: patches, row by row, and a class token that they attend to.

    x_0 = [c; W a_1 + b; ..; W a_N + b] + P, then pre-norm Transformer layers, GELU, FFN of 4 V
    Source: Dosovitskiy, Beyer, Kolesnikov et al. 2021, section 3.1.
    model.image.grid is the side of a patch in pixels (empty: 16). Sizes: model.image.width, layers,
    heads, class_tokens.
    """

    usual = ImageConfig(size=64, weights="none")

    def __init__(self, config: ImageConfig) -> None:
        super().__init__()
        side = int(config.grid) if config.grid.isdecimal() else 0 if config.grid else SIZE
        if side < 1 or config.size % side:
            raise ConfigurationError(
                f"grid '{config.grid}' of patches in images of {config.size} pixels",
                "the side of a patch in pixels, a divisor of the image's side",
            )
        self.shows_class = not config.project
        self.cells, self.width, first = config.size // side, config.width, config.class_tokens
        self.patch = nn.Parameter(torch.randn(config.width, 3, side, side) * side**-1)  # W
        self.patch_bias = nn.Parameter(torch.zeros(config.width))
        self.class_embedding = nn.Parameter(torch.randn(first, config.width) * 0.02)  # c
        self.position_embedding = nn.Parameter(
            torch.randn(first + self.cells**2, config.width) * 0.02
        )
        layer = ModelConfig(
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
        if self.shows_class:
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
