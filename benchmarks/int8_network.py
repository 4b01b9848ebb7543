"""Image network of `photos` in int8, fp32 and bf16: time per picture, error and equal captions.

    python benchmarks/int8_network.py PHOTOS --calibrate MORE_PHOTOS

int8: every convolution by torch's quantised kernels (oneDNN); weights per output channel, features
per layer with the range measured on the photos of --calibrate, of which the outermost 1e-5 are cut
off. bf16: autocast. The three alternate; the lowest processor time of each counts. A trial: the
program itself computes in fp32.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from models import load_captioner
from models.encoders.edgetpu import Block, Convolution, MobileNetEdgeTpu, same
from models.images.opening import open_image
from models.inference.captioner import Captioner

MODEL = Path(__file__).resolve().parents[1] / "models" / "pretrained" / "photos"
BATCH, CUT = 16, 1e-5
Range = tuple[float, int]  # scale and zero point of 8-bit features


class Int8Network:
    """The network of a captioner with 8-bit weights and features."""

    def __init__(self, captioner: Captioner, batches: list[Tensor]) -> None:
        self.encoder, body = captioner.encoder, captioner.encoder.body
        assert isinstance(body, MobileNetEdgeTpu) and body.head is not None
        self.body, self.head = body, body.head
        self.ranges = ranges(captioner, batches)
        self.packed: dict[tuple[nn.Module, int], Any] = {}

    def __call__(self, images: Tensor) -> Tensor:
        """Compute features (B, S, V) of images (B, 3, h, w)."""
        x = (images - self.encoder.mean) / self.encoder.deviation
        x = x.contiguous(memory_format=torch.channels_last)
        x = self.convolve(self.body.stem, torch.quantize_per_tensor(x, 2 / 255, 128, torch.quint8))
        for block in self.body.blocks:
            y = x
            for layer in block.children():
                y = self.convolve(layer, y)
            add = torch.ops.quantized.add
            x = add(x, y, *self.ranges[block]) if block.residual else y
        features: Tensor = self.convolve(self.head, x).dequantize()
        return features.flatten(2).mT.contiguous()

    def convolve(self, layer: nn.Module, x: Tensor) -> Tensor:
        """Compute a layer of 8-bit features."""
        assert isinstance(layer, Convolution)
        rows, columns = (same(length, layer.kernel, layer.stride) for length in x.shape[2:])
        around = rows[0] if rows == columns and rows[0] == rows[1] else 0
        if not around and max(*rows, *columns):
            x = pad(x, (*columns, *rows))
        if (layer, around) not in self.packed:
            self.packed[layer, around] = packed(layer, around)
        quantized = torch.ops.quantized
        operation = quantized.conv2d_relu if layer.relu else quantized.conv2d
        y: Tensor = operation(x, self.packed[layer, around], *self.ranges[layer])
        return y


def packed(layer: Convolution, around: int) -> Any:
    """Return the 8-bit weights of a layer, one scale per output channel."""
    weight = layer.weight.detach()
    scales = weight.abs().amax((1, 2, 3)).clamp_min(1e-8).double() / 127
    zeros = torch.zeros(len(weight), dtype=torch.long)
    q = torch.quantize_per_channel(weight, scales, zeros, 0, torch.qint8)
    stride, padding = [layer.stride] * 2, [around] * 2
    prepack = torch.ops.quantized.conv2d_prepack
    return prepack(q, layer.bias.detach(), stride, padding, [1, 1], layer.groups)


@torch.no_grad()
def ranges(captioner: Captioner, batches: list[Tensor]) -> dict[nn.Module, Range]:
    """Return the range of the output of every convolution and residual sum."""
    found: dict[nn.Module, tuple[float, float]] = {}

    def measure(layer: nn.Module, _: Any, output: Tensor) -> None:
        values = output.flatten()
        cut = max(1, int(len(values) * CUT))
        low = float(values.kthvalue(cut).values)
        high = float(values.kthvalue(len(values) - cut + 1).values)
        before = found.get(layer, (0.0, 0.0))
        found[layer] = min(before[0], low), max(before[1], high)

    kinds = Convolution, Block
    handles = [
        layer.register_forward_hook(measure)
        for layer in captioner.encoder.body.modules()
        if isinstance(layer, kinds)
    ]
    for batch in batches:
        captioner.encoder.features(batch)
    for handle in handles:
        handle.remove()
    scales = {layer: (high - low) / 255 for layer, (low, high) in found.items()}
    return {n: (scale, round(-found[n][0] / scale)) for n, scale in scales.items()}


def read(folder: Path, captioner: Captioner, most: int) -> list[Tensor]:
    """Return batches of the pixels of the first photos of a folder."""
    files = sorted(folder.iterdir())[:most]
    images = [captioner._pixels(open_image(file, least=captioner.image_size)) for file in files]
    return [torch.stack(images[n : n + BATCH]) for n in range(0, len(images), BATCH)]


def main() -> None:
    """Parse the command line and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("photos", type=Path, help="folder of photos only")
    parser.add_argument("--calibrate", type=Path, required=True, help="folder of other photos")
    parser.add_argument("--count", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "onednn"
    captioner = load_captioner(MODEL)
    assert isinstance(captioner, Captioner)
    batches = read(given.photos, captioner, given.count)
    features = captioner.encoder.features

    def bf16(images: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return features(images).float()

    networks: dict[str, Callable[[Tensor], Tensor]] = {
        "fp32": features,
        "bf16": bf16,
        "int8": Int8Network(captioner, read(given.calibrate, captioner, 64)),
    }
    found: dict[str, Tensor] = {}
    seconds: dict[str, list[float]] = {name: [] for name in networks}
    for _ in range(given.rounds):
        for name, network in networks.items():
            clock = time.process_time()
            with torch.inference_mode():
                found[name] = torch.cat([network(batch) for batch in batches])
            seconds[name].append(time.process_time() - clock)
    exact, expected = found["fp32"], [c.text for c in captioner.caption(list(found["fp32"]))]
    for name, values in found.items():
        each = 1000 * min(seconds[name]) / len(values)
        error = float((values - exact).norm() / exact.norm())
        texts = [caption.text for caption in captioner.caption(list(values))]
        equal = sum(a == b for a, b in zip(texts, expected, strict=True))
        print(f"{name}: {each:.1f} ms, error {error:.1%}, {equal} of {len(texts)} captions equal")


if __name__ == "__main__":
    main()
