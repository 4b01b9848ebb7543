"""Image networks up to a grid, and MobileNet-EdgeTPU with its published weights."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy
import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, pad

from models.core.config import ImageConfig
from models.core.errors import DamagedError, intact, unknown_name
from models.core.numerics import normal_weights
from models.core.sources import ImageSource
from models.storage.digests import check_digests
from models.storage.installed import shipped_captioner
from models.storage.settings import WEIGHTS
from models.storage.weights import read_tensors

PREFIX = ImageSource.shared_weights  # of the names of an image network's weights in a bundle
LAYERS = ("expand", "depthwise", "project")


def shipped_tensors(prefix: str) -> dict[str, Tensor]:
    """Return the shipped captioner's fp32 weights of a name prefix, which is removed."""
    folder = shipped_captioner()
    found = read_tensors(folder / WEIGHTS, lambda name: name.startswith(prefix))
    check_digests(folder, [WEIGHTS])
    return {name.removeprefix(prefix): tensor for name, tensor in found.items()}


def read_classifier(path: Path) -> tuple[Tensor, Tensor]:
    """Return weight (LABELS, V) and bias of the classifier in an npz file, or in its folder."""
    stored = read_layers(path, ["logits"])
    return stored["logits.weight"].flatten(1), stored["logits.bias"]


def read_layers(path: Path, names: Iterable[str]) -> dict[str, Tensor]:
    """Return NAME.weight and NAME.bias of each named layer. path: the file, or its folder.

    weight = (q - zero) scale, q of 8 bits

    Raises DamagedError if the file cannot be read or has no such layer.
    """
    path = next(iter(sorted(path.glob("*.npz"))), path)
    found: dict[str, Tensor] = {}
    expected = "weights of mobilenet-edgetpu: mobilenet_edgetpu_uint8.npz, or its folder"
    with (
        intact(path, expected, "", zipfile.BadZipFile, NotImplementedError),
        numpy.load(path, allow_pickle=False) as stored,
    ):
        for name in names:
            q, zero, scale, bias = (
                torch.from_numpy(stored[f"{name}.{part}"])
                for part in ("weight_q", "zero", "scale", "bias")
            )
            shape = -1, *[1] * (q.dim() - 1)
            found[f"{name}.weight"] = (q.float() - zero.float().view(shape)) * scale.view(shape)
            found[f"{name}.bias"] = bias
    return found


class Cnn(nn.Module):
    """An image network without its classifier, up to one of its grids.

    Built from an ImageConfig. `config.grid` names the layer whose output is the grid; "" selects
    the last one. An image is normalised as (pixel - mean) / deviation, for pixels from 0 to 1.
    """

    mean: tuple[float, ...] = (0.5, 0.5, 0.5)  # of each channel
    deviation: tuple[float, ...] = (0.5, 0.5, 0.5)
    class_slots = 0  # slots before those of the cells

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        raise NotImplementedError

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features, rows and columns of the grid: V, rows, columns.

        Computed by a network without weights. A network that knows its strides overrides this,
        because torch imports its compiler for the computation, which takes half a second.
        """
        with torch.device("meta"):
            pixels = torch.zeros(1, 3, config.size, config.size)
            _, features, rows, columns = type(self)(config).eval()(pixels).shape
        return features, rows, columns

    def load(self, weights: str) -> None:
        """Load the weights: DEFAULT, or the path of a file."""
        raise NotImplementedError


@torch.no_grad()
def copy_weights(network: nn.Module, stored: Mapping[str, Tensor], weights: str) -> None:
    """Copy stored weights into a network; others may be among them. weights: their name.

    Raises DamagedError if one is missing or has another shape.
    """
    for name, tensor in network.state_dict().items():
        if name not in stored or stored[name].shape != tensor.shape:
            raise DamagedError(
                f"weights '{weights}' without {name} of shape {tuple(tensor.shape)}",
                "the weights of model.image.encoder",
            )
        tensor.copy_(stored[name])


class BlockSize(NamedTuple):
    """One block of the network."""

    out: int
    expand: int = 0  # channels after expansion; 0: no expansion
    kernel: int = 3
    stride: int = 1
    fused: bool = False  # the expansion is the k x k convolution; no depthwise convolution
    residual: bool = False


class Architecture(NamedTuple):
    """The whole network, from pixels to the last grid."""

    stem: int
    blocks: tuple[BlockSize, ...]
    head: int


def repeated(first: BlockSize, expand: int, times: int) -> tuple[BlockSize, ...]:
    """Return a block followed by `times` residual ones."""
    return first, *[first._replace(expand=expand, stride=1, residual=True)] * times


MOBILENET_EDGETPU = Architecture(
    stem=32,
    blocks=(
        BlockSize(16),
        *repeated(BlockSize(32, 128, stride=2, fused=True), 128, 3),
        *repeated(BlockSize(48, 256, stride=2, fused=True), 192, 3),
        *repeated(BlockSize(96, 384, stride=2), 384, 3),
        *repeated(BlockSize(96, 768), 384, 3),
        *repeated(BlockSize(160, 768, kernel=5, stride=2), 640, 3),
        BlockSize(192, 1280),
    ),
    head=1280,
)


class MobileNetEdgeTpu(Cnn):
    """MobileNet-EdgeTPU 1.0, trained on ImageNet: about 25 ms per image on one core.

    Grids of an image of 224 x 224 pixels: head, 7 x 7 cells of 1280 features; blocks.17.expand,
    14 x 14 cells of 768.
    Source: Gupta and Akin 2020.
    """

    def __init__(self, config: ImageConfig, architecture: Architecture = MOBILENET_EDGETPU) -> None:
        super().__init__()
        self.grid = config.grid or "head"
        known = list(stages(architecture))
        if self.grid not in known:
            raise unknown_name(f"grid of {config.encoder}", self.grid, known)
        number = int(self.grid.split(".")[1]) if "." in self.grid else -1  # the last block
        last = self.grid.split(".")[2] if self.grid.count(".") == 2 else ""
        self.stem = Convolution(3, architecture.stem, kernel=3, stride=2)
        self.blocks = nn.ModuleList()
        size = architecture.stem
        for index, block in enumerate(() if self.grid == "stem" else architecture.blocks):
            self.blocks.append(Block(size, block, last=last if index == number else ""))
            size = block.out
            if index == number:
                break
        self.head = Convolution(size, architecture.head) if self.grid == "head" else None

    def forward(self, images: Tensor) -> Tensor:
        """Compute the grid (B, V, rows, columns) of normalised images (B, 3, h, w)."""
        # convolutions of oneDNN are faster in this layout, which all later layers keep
        x = self.stem(images.contiguous(memory_format=torch.channels_last))
        for block in self.blocks:
            x = block(x)
        return x if self.head is None else self.head(x)

    def grid_shape(self, config: ImageConfig) -> tuple[int, int, int]:
        """Return features, rows and columns of the grid, from the layers' strides."""
        features, side = 0, config.size
        for layer in self.modules():
            if isinstance(layer, Convolution):
                features, side = len(layer.bias), -(-side // layer.stride)
        return features, side, side

    def load(self, weights: str) -> None:
        """Load the weights: DEFAULT (the shipped captioner's), an npz file, or its folder."""
        if weights in ("", "DEFAULT"):
            stored = shipped_tensors(PREFIX)
        else:
            layers = [name for name, p in self.named_modules() if isinstance(p, Convolution)]
            stored = read_layers(Path(weights), layers)
        copy_weights(self, stored, weights)


class Block(nn.Module):
    """Expansion, depthwise convolution and projection, as far as the block has them."""

    def __init__(self, incoming: int, size: BlockSize, *, last: str = "") -> None:
        super().__init__()
        inner = size.expand or incoming
        kernel, stride = size.kernel, size.stride
        wanted = LAYERS[: LAYERS.index(last) + 1] if last else LAYERS
        if size.expand:
            fused = (kernel, stride) if size.fused else (1, 1)
            self.expand = Convolution(incoming, inner, kernel=fused[0], stride=fused[1])
        if size.expand and not size.fused and "depthwise" in wanted:
            self.depthwise = Convolution(inner, inner, kernel=kernel, stride=stride, groups=inner)
        if "project" in wanted:
            self.project = Convolution(inner, size.out, relu=False)
        self.residual = size.residual and "project" in wanted and not last

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, C, h, w) to the block's output (B, C', h', w')."""
        y = x
        for convolution in self.children():  # in order of construction
            y = convolution(y)
        return x + y if self.residual else y


class Convolution(nn.Module):
    """A convolution with TensorFlow's SAME padding, which puts an odd row or column at the end."""

    def __init__(
        self,
        incoming: int,
        out: int,
        *,
        kernel: int = 1,
        stride: int = 1,
        groups: int = 1,
        relu: bool = True,
    ) -> None:
        super().__init__()
        fan_in = incoming // groups * kernel**2
        shape = out, incoming // groups, kernel, kernel
        self.weight = normal_weights(*shape, deviation=(2 / fan_in) ** 0.5)
        self.bias = nn.Parameter(torch.zeros(out))
        self.kernel, self.stride, self.groups, self.relu = kernel, stride, groups, relu

    def forward(self, x: Tensor) -> Tensor:
        """Map features (B, C, h, w) to (B, C', ceil(h / stride), ceil(w / stride))."""
        rows, columns = (same(length, self.kernel, self.stride) for length in x.shape[2:])
        around = rows[0] if rows == columns and rows[0] == rows[1] else 0
        if not around and max(*rows, *columns):
            x = pad(x, (*columns, *rows))
        x = conv2d(x, self.weight, self.bias, self.stride, around, groups=self.groups)
        return x.relu_() if self.relu else x


def same(length: int, kernel: int, stride: int) -> tuple[int, int]:
    """Return the padding before and after that gives ceil(length / stride) outputs."""
    total = max((-(-length // stride) - 1) * stride + kernel - length, 0)
    return total // 2, total - total // 2


def stages(architecture: Architecture) -> Iterator[str]:
    """Yield the names of all layers that can be the grid."""
    yield "stem"
    for index, block in enumerate(architecture.blocks):
        for layer in LAYERS:
            if layer == "project" or (block.expand and not (layer == "depthwise" and block.fused)):
                yield f"blocks.{index}.{layer}"
        yield f"blocks.{index}"
    yield "head"
