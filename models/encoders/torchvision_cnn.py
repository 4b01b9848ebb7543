"""Image networks of torchvision, by their torchvision names, up to the stage that is the grid."""

from __future__ import annotations

import importlib
import itertools
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from models.base.errors import NotFoundError, intact, unknown_name
from models.config import ImageConfig
from models.encoders.recurrent import Cnn, copy_weights

FAMILIES = ("resnet", "resnext", "wide_resnet", "vgg", "mobilenet_v", "efficientnet", "convnext")
OPERATORS = {
    "nms": "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
_libraries: list[torch.library.Library] = []  # kept alive, because the declared names end with them


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
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]  # partially imported modules
    library = torch.library.Library("torchvision", "FRAGMENT")
    for name, schema in OPERATORS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(schema)
    _libraries.append(library)
    return importlib.import_module("torchvision.models")
