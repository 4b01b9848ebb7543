"""Small image network that is trained together with the captioner: for synthetic scenes, tests."""

from __future__ import annotations

from torch import Tensor, nn

from models.base.errors import ConfigurationError
from models.config import ImageConfig
from models.encoders.cnn import Cnn
from models.encoders.edgetpu import Convolution

CHANNELS = (32, 48, 64)


class SmallCnn(Cnn):
    """Three convolutions of stride 2, trained from scratch: for synthetic scenes, not photos.

    x = ReLU(GroupNorm(conv(x))), three times. An image of 64 x 64 pixels gives 8 x 8 cells of
    64 features.
    Source: ours; group normalisation by Wu and He 2018.
    """

    usual = ImageConfig(size=64, weights="none")

    def __init__(self, config: ImageConfig) -> None:
        super().__init__()
        if config.grid:
            raise ConfigurationError(
                f"grid '{config.grid}' of small-cnn",
                "no grid, because it has only one",
                "leave image.grid empty",
            )
        sizes = zip((3, *CHANNELS), CHANNELS, strict=False)
        self.layers = nn.ModuleList(
            Convolution(size, out, kernel=3, stride=2, relu=False) for size, out in sizes
        )
        self.norms = nn.ModuleList(nn.GroupNorm(8, size) for size in CHANNELS)

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, 64, ceil(h / 8), ceil(w / 8)) of images (B, 3, h, w)."""
        x = images
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(layer(x)).relu()
        return x

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features, rows and columns of the grid, from the layers' strides."""
        side = -(-config.size // 2 ** len(CHANNELS))
        return CHANNELS[-1], side, side

    def load(self, weights: str) -> None:
        """Raise ConfigurationError, because there are no weights to load."""
        raise ConfigurationError(
            f"weights '{weights}' for small-cnn, which is trained from scratch",
            "image.weights=none",
        )
