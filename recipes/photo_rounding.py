"""Correct the image network of a captioner for int8, before `attn models pack`.

    python recipes/photo_rounding.py --work WORK --start MODEL -o FOLDER

Rounded weights shift the mean of each channel, and the shifts add up over 59 convolutions. The
weights become those that int8 stores, and each bias takes up the shift of its channel,

    b += E[W x] - E[W' x'],

with the features x' of the network that is corrected so far, over IMAGES training images in WORK.
Source: Nagel et al. 2019, "Data-free quantization through weight equalization and bias
correction", section 4.2, with measured means.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from photo_labels import names, pixels, tar
from torch import Tensor, nn

from attncli.data.named_files import open_images
from models.core.config import ImageConfig
from models.networks import bundle
from models.networks.edgetpu import Convolution
from models.networks.image_encoder import ImageEncoder
from models.storage.weights import restored, stored_as

IMAGES = 256


def main() -> None:
    """Parse the command line and write the corrected captioner."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True, help="captioner")
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    captioner = bundle.read(options.start)
    encoder = captioner.model.encoder
    assert isinstance(encoder, ImageEncoder)
    images = training_images(options.work, encoder.config)
    before, after = correct(encoder.body.eval(), images)
    print(
        f"error of features, share of their variance: {before:.2%} rounded, {after:.2%} corrected"
    )
    options.output.mkdir(parents=True, exist_ok=True)
    bundle.save(captioner, options.output)


def training_images(work: Path, config: ImageConfig) -> Tensor:
    """Return IMAGES training images (N, 3, h, w), normalised, evenly spaced in their order."""
    every, images = names(work), open_images(tar(work))
    chosen = every[:: max(1, len(every) // IMAGES)][:IMAGES]
    return torch.stack([pixels(images, name, config) for name in chosen])


@torch.no_grad()
def correct(network: nn.Module, images: Tensor) -> tuple[float, float]:
    """Round the weights of a network, and correct its biases; return its errors before and after.

    images: (N, 3, h, w), normalised.
    """
    layers = [layer for layer in network.modules() if isinstance(layer, Convolution)]
    wanted: dict[Convolution, Tensor] = {}
    exact = observed(network, layers, images, wanted.__setitem__)
    for layer in layers:
        layer.weight.copy_(restored(stored_as("int8", {"weight": layer.weight}))["weight"])
    rounded = network(images)
    observed(network, layers, images, lambda layer, mean: layer.bias.add_(wanted[layer] - mean))
    return error(rounded, exact), error(network(images), exact)


def observed(
    network: nn.Module,
    layers: list[Convolution],
    images: Tensor,
    use: Callable[[Convolution, Tensor], object],
) -> Tensor:
    """Return the features of images; before each convolution, pass the means (V,) of its sums."""

    def observe(layer: nn.Module, inputs: tuple[Tensor]) -> None:
        assert isinstance(layer, Convolution)
        relu, layer.relu = layer.relu, False
        mean = layer.forward(inputs[0]).mean((0, 2, 3))
        layer.relu = relu
        use(layer, mean)

    hooks = [layer.register_forward_pre_hook(observe) for layer in layers]
    features: Tensor = network(images)
    for hook in hooks:
        hook.remove()
    return features


def error(features: Tensor, exact: Tensor) -> float:
    """Return the mean squared error of features as a share of their variance."""
    return float((features - exact).square().mean() / exact.var())


if __name__ == "__main__":
    main()
