"""Image encoder: an image to a memory with one slot per grid cell.

a_1 .. a_S = the cells of a grid inside an image network, row by row      Xu et al. 2015, 3.1.1
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor, nn

from models.base.errors import unknown_name
from models.base.registry import find, names
from models.base.types import Memory
from models.config import ImageConfig, ModelConfig
from models.encoders.cnn import Cnn
from models.encoders.edgetpu_weights import read_classifier, shipped_tensors
from models.encoders.torchvision_cnn import FAMILIES
from models.images.labels import ImageLabels
from models.numerics.dropout import Dropout

EXAMPLES = ("resnet50", "vgg19", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny")
PREPROCESSING = 2  # version of the preprocessing in models.images.opening; part of the cache key


class ImageEncoder(nn.Module):
    """Images, or precomputed features, to a memory of S cells with V features.

    The network is frozen, so it has no gradients, unless it is trained from scratch
    (`weights = none`) or `unfreeze` is called. It always stays in evaluation mode, so its
    normalisation layers keep their statistics.
    """

    mean: Tensor
    deviation: Tensor
    frozen: bool

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        image = config.image
        self.body: Cnn = kind_of(image.encoder)(image)
        self.value_size, rows, columns = self.body.grid_shape(image)
        self.grid = (rows, columns)
        self.labels = ImageLabels(image, self.value_size) if image.labels else None
        self.norm = nn.LayerNorm(self.value_size) if image.layer_norm else None
        self.feature_dropout = Dropout(image.dropout)
        for name in ("mean", "deviation"):
            scale = torch.tensor(getattr(self.body, name)).view(3, 1, 1)
            self.register_buffer(name, scale, persistent=False)
        self.config = image
        if image.weights == "none":
            self.unfreeze()
        else:
            self.freeze()

    def freeze(self) -> None:
        """Exclude the network from training."""
        self.frozen = True
        self.body.requires_grad_(False)

    def unfreeze(self) -> None:
        """Include the network in training."""
        self.frozen = False
        self.body.requires_grad_(True)

    def load_pretrained(self) -> None:
        """Load the image network's weights from `model.image.weights`: once, before training.

        A bundle contains them, so reading a bundle does not call this.
        """
        if self.config.weights != "none":
            self.body.load(self.config.weights)
            if self.labels is not None:
                load_classifier(self.labels, self.config.weights)

    def train(self, mode: bool = True) -> ImageEncoder:
        """Set training mode; the image network stays in evaluation mode."""
        super().train(mode)
        self.body.eval()
        return self

    def features(self, images: Tensor) -> Tensor:
        """Compute features (B, S, V) of images (B, 3, h, w) with values from 0 to 1, row by row."""
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.frozen):
            cells = self.body((images - self.mean) / self.deviation)  # (B, V, rows, cols)
            return cells.flatten(2).mT.contiguous()

    def forward(self, source: Tensor, mask: Tensor) -> Memory:
        """Return the memory of images (B, 3, h, w) or features (B, S, V), mask (B, S).

        Its `final` is the mean feature of the real cells.
        """
        values = self.features(source) if source.dim() == 4 else source.float()
        tokens = None if self.labels is None else self.labels(cell_mean(values, mask))
        if self.norm is not None:
            values = self.norm(values)
        if self.training and self.feature_dropout.rate:
            # one mask for all cells, because a mean over cells would average out a mask per cell
            values = values * self.feature_dropout(values.new_ones(len(values), 1, self.value_size))
        return Memory(values, mask, cell_mean(values, mask), self.grid, tokens=tokens)


@torch.no_grad()
def load_classifier(labels: ImageLabels, weights: str) -> None:
    """Load the classifier of labels: from an npz file or its folder, or the shipped captioner's."""
    if weights in ("", "DEFAULT"):
        stored = shipped_tensors("encoder.labels.")
        weight, bias = stored["weight"], stored["bias"]
    else:
        weight, bias = read_classifier(Path(weights))
    labels.weight.copy_(weight)
    labels.bias.copy_(bias)


def cell_mean(values: Tensor, mask: Tensor) -> Tensor:
    """Return the mean (B, V) of the real cells of values (B, S, V)."""
    real = mask.unsqueeze(1).to(values.dtype)  # (B, 1, S)
    with torch.autocast(values.device.type, enabled=False):  # autocast would copy all values
        return (real @ values).squeeze(1) / real.sum(2).clamp_min(1)


def kind_of(encoder: str) -> type[Cnn]:
    """Return the class of an image network; raise UnknownNameError for another name."""
    if encoder.startswith(FAMILIES):
        encoder = "torchvision"
    if encoder not in names("image_encoder"):
        raise unknown_name("image encoder", encoder, [*names("image_encoder"), *EXAMPLES])
    return find("image_encoder", encoder)


def pretrained_encoder(model: nn.Module) -> ImageEncoder | None:
    """Return the model's encoder of images, if it has one."""
    encoder = getattr(model, "encoder", None)
    encoder = getattr(encoder, "image", encoder)  # of several inputs
    return encoder if isinstance(encoder, ImageEncoder) else None


def pretrained_parameters(model: nn.Module) -> Iterator[nn.Parameter]:
    """Yield the parameters of the model's image network, if it has one."""
    if encoder := pretrained_encoder(model):
        yield from encoder.body.parameters()


def identity(encoder: ImageEncoder, config: ImageConfig) -> str:
    """Return a hash of all that determines `features`: network, weights and preprocessing."""
    settings = [PREPROCESSING, config.encoder, config.grid, config.size, config.fit]
    settings += [config.resample] if config.resample != "bilinear" else []
    digest = hashlib.sha256(json.dumps(settings).encode())
    for name, tensor in encoder.body.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
