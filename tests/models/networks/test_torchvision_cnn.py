"""Image networks of torchvision: equal to torchvision's own up to the grid."""

from __future__ import annotations

import dataclasses
import pickle
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from models.core.config import ImageConfig
from models.core.errors import ModelError
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.image_encoder import ImageEncoder, TorchvisionCnn, torchvision_models
from models.storage.weights import fill, weights_of
from tests.models.small import IMAGES, small_config


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
        ("resnet18", "w.pth", "w.pth is damaged"),
        ("resnet18", "absent.safetensors", "absent.safetensors is missing"),
        ("mobilenet_v3_small", "w.safetensors", "without features.*expected the weights"),
    ):
        with pytest.raises(ModelError, match=fact) as refused:
            torchvision_of(name).load(str(tmp_path / weights))
        assert "\n" not in str(refused.value)

    def offline(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", offline)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(ModelError, match=r"not be downloaded.*\.pth;.*model.image.weights=PATH"):
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
    fill(other, weights_of(one), tmp_path)
    stored, found = one.state_dict(), other.state_dict()
    assert stored.keys() == found.keys() and all(torch.equal(stored[n], found[n]) for n in stored)
    pixels = torch.rand(2, 3, 32, 32)
    first, second = one.train().encoder, other.eval().encoder
    assert isinstance(first, ImageEncoder) and isinstance(second, ImageEncoder)
    # statistics do not move
    assert torch.equal(first.features(pixels), second.features(pixels))
