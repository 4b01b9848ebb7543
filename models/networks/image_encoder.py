"""Image encoders: grids of a network, a small network, patches."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import pixel_unshuffle

from models.core.config import ImageConfig, ImageModelConfig
from models.core.errors import ConfigurationError, NotFoundError, intact, unknown_name
from models.core.registry import find, names
from models.core.types import Memory
from models.networks.edgetpu import (
    Cnn,
    Convolution,
    copy_weights,
    read_classifier,
    shipped_tensors,
)
from models.signals.imagenet import ImageLabels

FAMILIES = ("resnet", "resnext", "wide_resnet", "vgg", "mobilenet_v", "efficientnet", "convnext")
OPERATORS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_libraries: list[torch.library.Library] = []  # kept alive, because the declared names end with them

EXAMPLES = ("resnet50", "vgg19", "mobilenet_v3_large", "efficientnet_b0", "convnext_tiny")
# features of a cache with another preprocessing would be read as those of this one
PREPROCESSING = 2  # version of the preprocessing in models.signals.images; part of the cache key
CHANNELS = (32, 48, 64)  # of the layers of SmallCnn
SIZE = 8  # default side of a patch in pixels


class TorchvisionCnn(Cnn):
    """torchvision's ResNet, VGG, MobileNet, EfficientNet, ConvNeXt: resnet50, vgg19 and so on.

    The grid is the output of a stage: layer1 .. layer4 of a ResNet, features.0 .. of the others.
    The default is the last stage; of VGG, the last before pooling (14 x 14 cells of 512 features,
    as in Xu et al. 2015).
    Source: He et al. 2016; Simonyan and Zisserman 2015; Howard et al. 2019; Tan and Le 2019; Liu
    et al. 2022.
    """

    mean = (0.485, 0.456, 0.406)
    deviation = (0.229, 0.224, 0.225)

    def __init__(self, config: ImageConfig) -> None:
        super().__init__()
        self.name = config.encoder
        module = torchvision_models()
        # others, such as detectors and Vision Transformers, have no grid of stages
        known = [name for name in module.list_models(module=module) if name.startswith(FAMILIES)]
        if self.name not in known:
            raise unknown_name("image encoder", self.name, known)
        network = module.get_model(self.name, weights=None)
        every = stages(network)
        last = [name for name, part in every.items() if not isinstance(part, nn.MaxPool2d)][-1]
        grid = config.grid or last
        if grid not in every:
            raise unknown_name(f"grid of {self.name}", grid, every)
        self.walk = list(every)[: list(every).index(grid) + 1]
        self.network = cut(network, self.walk)
        for part in self.network.modules():
            if isinstance(part, nn.BatchNorm2d):
                part.num_batches_tracked = None  # unused, because the statistics are fixed

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        x = images
        for name in self.walk:
            x = self.network.get_submodule(name)(x)
        return x

    def load(self, weights: str) -> None:
        """Load the weights: DEFAULT (torchvision's own), or the path of a .safetensors file."""
        found = downloaded(self.name) if weights in ("", "DEFAULT") else stored(Path(weights))
        copy_weights(self.network, found, weights)


def stages(network: nn.Module) -> dict[str, nn.Module]:
    """Return the stages of a network in the order of its forward pass, up to the final pooling."""
    parts = dict(network.named_children())
    if "features" in parts:
        return {f"features.{name}": part for name, part in parts["features"].named_children()}
    return dict(itertools.takewhile(lambda item: item[0] != "avgpool", parts.items()))


def cut(network: nn.Module, walk: list[str]) -> nn.Module:
    """Remove the stages after the grid; the remaining parts keep their names."""
    kept = {name.split(".")[0] for name in walk}
    for name, part in list(network.named_children()):
        if name not in kept:
            delattr(network, name)
        elif name == "features":
            assert isinstance(part, nn.Sequential)
            setattr(network, name, part[: len(walk)])
    return network


def downloaded(name: str) -> Mapping[str, Tensor]:
    """Return torchvision's best weights of a network, from its cache or by download."""
    best = torchvision_models().get_model_weights(name).DEFAULT
    try:
        return best.get_state_dict(progress=False, check_hash=True)
    except (OSError, RuntimeError) as error:  # no connection; a damaged file
        raise NotFoundError(
            f"the weights of {name} could not be downloaded ({error})",
            f"a connection to {best.url}",
            "give -s model.image.weights=PATH, a .safetensors file, or none to train from scratch",
        ) from None


def stored(path: Path) -> Mapping[str, Tensor]:
    """Return the weights in a safetensors file. A .pth file is a pickle, so it is not opened."""
    expected = "torchvision's weights as a .safetensors file"
    hint = "safetensors.torch.save_file(network.state_dict(), PATH) writes one"
    with intact(path, expected, hint, SafetensorError):
        return load_file(path)


def torchvision_models() -> Any:
    """Import `torchvision.models`; declare missing operators if the import fails.

    Where the compiled operators of torchvision do not match torch, as in a CPU-only build, it fails
    with "operator torchvision::nms does not exist". No image network calls this operator.
    """
    try:
        return importlib.import_module("torchvision.models")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in OPERATORS.items():
        # declared twice, torch raises an error
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
    _libraries.append(library)
    return importlib.import_module("torchvision.models")


class ImageEncoder(nn.Module):
    """Images, or precomputed features, to a memory of S cells with V features.

    The network is frozen, so it has no gradients, unless it is trained from scratch
    (`weights = none`) or `unfreeze` is called. It always stays in evaluation mode, so its
    normalisation layers keep their statistics.
    """

    mean: Tensor
    deviation: Tensor
    frozen: bool

    def __init__(self, config: ImageModelConfig) -> None:
        super().__init__()
        image = config.image
        self.body: Cnn = kind_of(image.encoder)(image)
        self.value_size, rows, columns = self.body.grid_shape(image)
        self.grid = (rows, columns)
        self.labels = ImageLabels(image, self.value_size) if image.labels else None
        self.norm = nn.LayerNorm(self.value_size) if image.layer_norm else None
        self.feature_dropout = nn.Dropout(image.dropout)
        for name in ("mean", "deviation"):
            scale = torch.tensor(getattr(self.body, name)).view(3, 1, 1)
            self.register_buffer(name, scale, persistent=False)
        self.config = image
        if image.weights == "none":
            self.unfreeze()
        else:
            self.freeze()

    @property
    def slots(self) -> int:
        """Number of slots of a square image: cells, and class tokens before them."""
        return self.grid[0] * self.grid[1] + self.body.class_slots

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
        # statistics of small batches would change the features that are cached
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
        if self.training and self.feature_dropout.p:
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
    settings += [] if config.project else ["class tokens"]
    digest = hashlib.sha256(json.dumps(settings).encode())
    for name, tensor in encoder.body.state_dict().items():
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


class SmallCnn(Cnn):
    """Three convolutions of stride 2, trained from scratch: for synthetic scenes, not photos.

    x = ReLU(GroupNorm(conv(x))), three times. An image of 64 x 64 pixels gives 8 x 8 cells of
    64 features.
    Source: ours; group normalisation by Wu and He 2018.
    """

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


class Patches(Cnn):
    """Square patches of the image; pixels and position are the features. Nothing is learned.

    a_i = [the 3 p^2 values of patch i; its row; its column], positions from -1 to 1
    Source: the input of Dosovitskiy et al. 2021, section 3.1; positions as in Liu et al. 2018.
    model.image.grid is p in pixels; 8 if it is empty.
    """

    def __init__(self, config: ImageConfig) -> None:
        super().__init__()
        grid = config.grid or str(SIZE)
        self.side = int(grid) if grid.isdecimal() else 0
        if self.side < 1 or config.size % self.side:
            raise ConfigurationError(
                f"grid '{config.grid}' of patches in images of {config.size} pixels",
                "the side of a patch in pixels, a divisor of the image's side",
            )

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, 3 p p + 2, h / p, w / p) of normalised images (B, 3, h, w)."""
        pixels = pixel_unshuffle(images, self.side)
        batch, _, rows, columns = pixels.shape
        down, right = (
            torch.linspace(-1, 1, size, device=images.device, dtype=images.dtype)
            for size in (rows, columns)
        )
        places = torch.stack(torch.meshgrid(down, right, indexing="ij"))  # (2, rows, columns)
        return torch.cat([pixels, places.expand(batch, -1, -1, -1)], 1)

    def load(self, weights: str) -> None:
        """Do nothing, because there are no weights."""
