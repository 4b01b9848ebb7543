"""Image networks: their arithmetic written out, their files, their grids, what is frozen."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from safetensors.torch import save as to_bytes
from safetensors.torch import save_file

from models.bundle import build, load_weights, weights_of
from models.config import ImageConfig, ModelConfig
from models.encoders.edgetpu import (
    MOBILENET_EDGETPU,
    Architecture,
    BlockSize,
    Convolution,
    MobileNetEdgeTpu,
    same,
    stages,
)
from models.encoders.image import ImageEncoder, identity, kind_of
from models.encoders.torchvision_cnn import TorchvisionCnn
from models.encoders.torchvision_import import torchvision_models
from models.errors import ModelError
from models.registry import names
from models.types import VocabularySizes
from tests.models.small import IMAGES, small_config

TINY = Architecture(
    stem=4,
    blocks=(
        BlockSize(3),
        BlockSize(4, 6, stride=2, fused=True),
        BlockSize(4, 5, fused=True, residual=True),
        BlockSize(4, 6, kernel=5, stride=2),
        BlockSize(4, 8, residual=True),
        BlockSize(4, 8, residual=True),
    ),
    head=7,
)
EDGETPU = ImageConfig(encoder="mobilenet-edgetpu", weights="none")


def described(network: MobileNetEdgeTpu) -> list[dict[str, Any]]:
    """Return a network as arch.json describes it: convolutions in order, and what they add."""
    layers: list[dict[str, Any]] = []
    before = ""
    for name, part in network.named_modules():
        if isinstance(part, Convolution):
            out, per_group, kernel, _ = part.weight.shape
            layers.append(
                {
                    "op": "conv",
                    "name": name,
                    "out": out,
                    "in_per_group": per_group,
                    "kernel": [kernel, kernel],
                    "stride": part.stride,
                    "groups": part.groups,
                    "padding": "SAME",
                    "act": "relu" if part.relu else None,
                }
            )
            if not name.endswith("project"):
                continue
            if TINY.blocks[int(name.split(".")[1])].residual:
                layers.append({"op": "add", "inputs": [name, before]})
                before = f"add_after_{name}"
            else:
                before = name
    return layers


def evaluated(layers: list[dict[str, Any]], weights: dict[str, Any], image: Any) -> dict[str, Any]:
    """Every layer's output (h, w, C) for an image (h, w, 3), pixel by pixel."""
    outputs: dict[str, Any] = {}
    x = image
    for layer in layers:
        if layer["op"] == "add":
            name = layer["inputs"][0]
            x = outputs[name] + outputs[layer["inputs"][1]]
            outputs[f"add_after_{name}"] = x
            continue
        weight, bias = weights[layer["name"]]
        kernel, stride, per_group = layer["kernel"][0], layer["stride"], layer["in_per_group"]
        height, width = (math.ceil(n / stride) for n in x.shape[:2])
        top, left = (
            max((math.ceil(n / stride) - 1) * stride + kernel - n, 0) // 2 for n in x.shape[:2]
        )
        y = numpy.zeros((height, width, layer["out"]))
        for row, column, out in numpy.ndindex(*y.shape):
            total = bias[out]
            first = out // (layer["out"] // layer["groups"]) * per_group
            for i, j, channel in numpy.ndindex(kernel, kernel, per_group):
                a, b = row * stride - top + i, column * stride - left + j
                if 0 <= a < x.shape[0] and 0 <= b < x.shape[1]:
                    total += weight[out, channel, i, j] * x[a, b, first + channel]
            y[row, column, out] = max(total, 0) if layer["act"] else total
        x = outputs[layer["name"]] = y
    return outputs


def quantised(network: MobileNetEdgeTpu, folder: Path) -> dict[str, Any]:
    """Write random 8-bit weights and a description into a folder; the weights as numbers."""
    random = numpy.random.default_rng(1)
    stored: dict[str, Any] = {}
    weights: dict[str, Any] = {}
    for name, part in network.named_modules():
        if isinstance(part, Convolution):
            q = random.integers(0, 256, part.weight.shape, numpy.uint8)
            scale = numpy.array([random.uniform(0.002, 0.004)], numpy.float32)
            zero = numpy.array([random.integers(100, 150)], numpy.int32)
            bias = random.normal(size=len(q)).astype(numpy.float32)
            parts = {"weight_q": q, "scale": scale, "zero": zero, "bias": bias}
            stored |= {f"{name}.{key}": value for key, value in parts.items()}
            weights[name] = (q.astype(numpy.float64) - zero[0]) * scale[0], bias
    numpy.savez(folder / "weights.npz", **stored)
    (folder / "arch.json").write_text(json.dumps({"layers": described(network)}))
    return weights


@pytest.mark.parametrize("size", [(16, 16), (17, 15)])
def test_the_network_equals_its_description_evaluated_pixel_by_pixel(
    size: tuple[int, int], tmp_path: Path
) -> None:
    whole = MobileNetEdgeTpu(EDGETPU, TINY)
    weights = quantised(whole, tmp_path)
    torch.manual_seed(1)
    image = torch.randn(1, 3, *size)
    layers = described(whole)
    outputs = evaluated(layers, weights, image[0].permute(1, 2, 0).double().numpy())
    expected = {layer["name"]: layer["name"] for layer in layers if layer["op"] == "conv"}
    for index, block in enumerate(TINY.blocks):
        name = f"blocks.{index}.project"
        expected[f"blocks.{index}"] = f"add_after_{name}" if block.residual else name
    assert set(expected) == set(stages(TINY))
    for grid, name in expected.items():
        network = MobileNetEdgeTpu(dataclasses.replace(EDGETPU, grid=grid), TINY)
        network.load(str(tmp_path))
        found = network(image)[0].permute(1, 2, 0)
        reference = torch.from_numpy(outputs[name])
        torch.testing.assert_close(found.detach().double(), reference, atol=1e-4, rtol=1e-4)


def test_same_padding_puts_the_odd_zero_after() -> None:
    assert same(224, 3, 2) == (0, 1) and same(225, 3, 2) == (1, 1)
    assert same(14, 5, 2) == (1, 2) and same(7, 3, 1) == (1, 1) and same(7, 1, 2) == (0, 0)


def test_the_grids_of_the_whole_network() -> None:
    for grid, shape in (("", (1280, 7, 7)), ("blocks.17.expand", (768, 14, 14))):
        with torch.device("meta"):
            network = MobileNetEdgeTpu(dataclasses.replace(EDGETPU, grid=grid))
            assert network(torch.zeros(2, 3, 224, 224)).shape == (2, *shape)
    convolutions = [s for s in stages(MOBILENET_EDGETPU) if s.split(".")[-1].isalpha()]
    assert len(convolutions) == 59 - 1  # the classifier is left out
    with pytest.raises(ModelError, match=r"did you mean blocks\.17"):
        MobileNetEdgeTpu(dataclasses.replace(EDGETPU, grid="blocks.17.expnd"))


def broken_weights(folder: Path, damage: str) -> None:
    whole = MobileNetEdgeTpu(EDGETPU, TINY)
    quantised(whole, folder)
    path = folder / "weights.npz"
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:500])
    elif damage == "pickled":
        pickled: dict[str, Any] = {"stem.weight_q": numpy.array([{}], dtype=object)}
        numpy.savez(path, **pickled)
    elif damage == "other":
        path.unlink()
        numpy.savez(path, other=numpy.zeros(3))
    elif damage == "missing":
        path.unlink()
    elif damage == "stride":
        layers = described(whole)
        layers[2]["stride"] = 1
        (folder / "arch.json").write_text(json.dumps({"layers": layers}))


@pytest.mark.parametrize(
    ("damage", "fact"),
    [
        ("truncated", "cannot be read"),
        ("pickled", "cannot be read"),
        ("other", "stem.weight_q"),
        ("missing", "cannot be read"),
        ("stride", "stride 1 at blocks.1.expand; expected .* with 2"),
    ],
)
def test_weights_that_do_not_fit_are_refused(damage: str, fact: str, tmp_path: Path) -> None:
    broken_weights(tmp_path, damage)
    with pytest.raises(ModelError, match=fact) as refused:
        MobileNetEdgeTpu(EDGETPU, TINY).load(str(tmp_path))
    assert "\n" not in str(refused.value)


def torchvision_of(name: str, grid: str = "") -> TorchvisionCnn:
    torch.manual_seed(1)
    return TorchvisionCnn(ImageConfig(encoder=name, grid=grid, weights="none")).eval()


def network_of(name: str) -> torch.nn.Module:
    """torchvision's own network, its statistics no longer those of a fresh one."""
    torch.manual_seed(2)
    network: torch.nn.Module = torchvision_models().get_model(name, weights=None).eval()
    for part in network.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            assert part.running_mean is not None and part.running_var is not None
            part.running_mean.uniform_(-0.2, 0.2)
            part.running_var.uniform_(0.5, 1.5)
    return network


@torch.no_grad()
@pytest.mark.parametrize(
    ("name", "layer", "grid"),
    [
        ("resnet18", "layer4", ""),
        ("resnet18", "layer3", "layer3"),
        ("mobilenet_v3_small", "features", ""),
        ("efficientnet_b0", "features.4", "features.4"),
    ],
)
def test_a_torchvision_network_is_torchvisions_up_to_its_grid(
    name: str, layer: str, grid: str, tmp_path: Path
) -> None:
    theirs, ours, path = network_of(name), torchvision_of(name, grid), tmp_path / "w.safetensors"
    save_file(theirs.state_dict(), path)
    ours.load(str(path))
    seen: list[torch.Tensor] = []
    theirs.get_submodule(layer).register_forward_hook(lambda *call: seen.append(call[2].clone()))
    image = torch.randn(2, 3, 64, 64)
    theirs(image)
    torch.testing.assert_close(ours(image), seen[0])


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("resnet50", (2048, 7, 7)),
        ("vgg19", (512, 14, 14)),
        ("mobilenet_v2", (1280, 7, 7)),
        ("mobilenet_v3_large", (960, 7, 7)),
        ("efficientnet_b0", (1280, 7, 7)),
        ("convnext_tiny", (768, 7, 7)),
    ],
)
def test_the_last_grid_of_every_torchvision_family(name: str, shape: tuple[int, ...]) -> None:
    with torch.device("meta"):
        network = torchvision_of(name)
        assert network(torch.zeros(1, 3, 224, 224)).shape == (1, *shape)
    assert not {"fc", "classifier"} & dict(network.network.named_children()).keys()


def test_what_is_no_torchvision_network_grid_or_weights_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ModelError, match="did you mean resnet50"):
        torchvision_of("resnet55")
    with pytest.raises(ModelError, match="did you mean layer4"):
        torchvision_of("resnet18", "layer5")
    (tmp_path / "w.pth").write_bytes(pickle.dumps(Path("a"), protocol=2))
    save_file(network_of("resnet18").state_dict(), tmp_path / "w.safetensors")
    for name, weights, fact in (
        ("resnet18", "w.pth", "cannot be read"),
        ("resnet18", "absent.safetensors", "cannot be read"),
        ("mobilenet_v3_small", "w.safetensors", "missing; expected the weights of torchvision's"),
    ):
        with pytest.raises(ModelError, match=fact) as refused:
            torchvision_of(name).load(str(tmp_path / weights))
        assert "\n" not in str(refused.value)

    def offline(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(ModelError, match=r"not be downloaded.*\.pth;.*--encoder-weights PATH"):
        torchvision_of("resnet18").load("DEFAULT")


def test_a_bundle_keeps_the_statistics_of_normalisation(tmp_path: Path) -> None:
    config = small_config("show-attend-tell-soft-nano")
    image = dataclasses.replace(IMAGES, encoder="resnet18", grid="layer1")
    config = dataclasses.replace(config, image=image)
    one, other = (build(config, VocabularySizes(0, 30, False)) for _ in range(2))
    for part in one.modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            assert part.running_mean is not None
            part.running_mean.uniform_(-1, 1)
    (tmp_path / "w").write_bytes(to_bytes(weights_of(one)))
    load_weights(other, tmp_path / "w")
    stored, found = one.state_dict(), other.state_dict()
    assert stored.keys() == found.keys() and all(torch.equal(stored[n], found[n]) for n in stored)
    pixels = torch.rand(2, 3, 32, 32)
    first, second = one.train().encoder, other.eval().encoder
    assert isinstance(first, ImageEncoder) and isinstance(second, ImageEncoder)
    # statistics do not move
    assert torch.equal(first.features(pixels), second.features(pixels))


def encoder_of(**image: Any) -> ImageEncoder:
    config = dataclasses.replace(IMAGES, **image)
    torch.manual_seed(1)
    return ImageEncoder(ModelConfig(family="captioner", image=config))


def test_weights_that_do_not_exist_are_refused() -> None:
    with pytest.raises(ModelError, match="trained from scratch"):
        encoder_of(weights="DEFAULT").load_pretrained()
    with pytest.raises(ModelError, match="did you mean small-cnn"):
        kind_of("smal-cnn")


def test_the_cells_are_row_by_row() -> None:
    encoder = encoder_of()
    image = torch.rand(2, 3, 32, 48)
    cells = encoder.body((image - 0.5) / 0.5)  # (B, V, 4, 6)
    features = encoder.features(image)
    assert features.shape == (2, 24, encoder.value_size)
    assert torch.equal(features[1, 1 * 6 + 4], cells[1, :, 1, 4])
    memory = encoder(image, torch.ones(2, 24, dtype=torch.bool))
    assert torch.equal(memory.values, features) and memory.final is not None
    torch.testing.assert_close(memory.final, features.mean(1))


def test_images_and_their_features_leave_the_same_memory() -> None:
    for layer_norm in (False, True):
        encoder = encoder_of(layer_norm=layer_norm)
        images, mask = torch.rand(2, 3, 32, 32), torch.ones(2, 16, dtype=torch.bool)
        mask[1, 10:] = False
        one, other = encoder(images, mask), encoder(encoder.features(images), mask)
        assert torch.equal(one.values, other.values) and torch.equal(one.final, other.final)
        assert one.grid == (4, 4) == encoder.grid
        torch.testing.assert_close(one.final[1], one.values[1, :10].mean(0))


def test_features_are_left_out_in_every_cell_and_while_training_only() -> None:
    features, mask = torch.rand(8, 16, 128), torch.ones(8, 16, dtype=torch.bool)
    encoder = encoder_of(dropout=0.25).train()
    memory = encoder(features[..., : encoder.value_size], mask)
    share = memory.values / features[..., : encoder.value_size]
    assert torch.equal(share == 0, (share[:, :1] == 0).expand_as(share))
    left_out = (share[:, 0] == 0).float().mean()
    assert 0.15 < left_out < 0.35 and not torch.equal(share[0], share[1])
    torch.testing.assert_close(
        share[share != 0], torch.full((), 4 / 3).expand_as(share[share != 0])
    )
    torch.testing.assert_close(memory.final, memory.values.mean(1))
    assert torch.equal(
        encoder.eval()(features[..., : encoder.value_size], mask).values,
        features[..., : encoder.value_size],
    )


def model_of(weights: str) -> Any:
    config = small_config("show-attend-tell-soft-nano")
    image = dataclasses.replace(IMAGES, weights=weights)
    return build(dataclasses.replace(config, image=image), VocabularySizes(0, 30, False))


def test_a_network_with_weights_of_its_own_is_frozen_until_it_is_told_to_learn() -> None:
    model = model_of("somewhere")
    body = model.encoder.body
    for training, on in ((True, False), (True, True), (False, True), (True, False)):
        (model.encoder.unfreeze if on else model.encoder.freeze)()
        model.train(training)
        assert model.decoder.training == training and not body.training
        assert {p.requires_grad for p in body.parameters()} == {on}
        assert model.encoder.frozen != on
        features = model.encoder.features(torch.rand(1, 3, 32, 32))
        assert features.requires_grad == on
    assert model_of("none").encoder.frozen is False and model_of("somewhere").encoder.frozen


def test_the_identity_is_that_of_network_weights_and_preprocessing() -> None:
    def key(change: Any = None, **image: Any) -> str:
        encoder = encoder_of(**image)
        if change is not None:
            with torch.no_grad():
                change(next(encoder.body.parameters()))
        return identity(encoder, dataclasses.replace(IMAGES, **image))

    assert key() == key() and key(weights="somewhere") == key() == key(layer_norm=True)
    others = [key(lambda w: w[0, 0, 0].add_(1e-3)), key(size=48), key(fit="squash")]
    assert len({key(), *others}) == 4


@pytest.mark.parametrize("name", [n for n in names("image_encoder") if n != "torchvision"])
def test_every_network_has_the_grid_that_it_says(name: str) -> None:
    encoder = encoder_of(encoder=name, size=64)
    features = encoder.features(torch.rand(1, 3, 64, 64))
    rows, columns = encoder.grid
    assert features.shape == (1, rows * columns, encoder.value_size)
