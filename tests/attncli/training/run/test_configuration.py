"""A new captioner: the network of the shipped model is its default; another brings its own grid."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.caption import data as image_data
from attncli.jobs.train import train
from attncli.training.command_line import settings
from attncli.training.configuration import check_buildable
from attncli.training.settings.config import RunConfig
from models.core.config import ImageConfig, ModelConfig
from models.core.errors import ModelError
from models.engines.captioner import Captioner
from models.networks import edgetpu
from models.networks.image_encoder import ImageEncoder
from models.storage.installed import BOX, DEFAULTS
from tests.attncli.training.small_captions import Files

SHIPPED = BOX / DEFAULTS["caption"]
with_photos = pytest.mark.skipif(not SHIPPED.exists(), reason="photos is not in the box")


def chosen(files: Files, preset: str, encoder: str = "", *changes: str) -> RunConfig:
    images = {"images": files.images, "captions": files.train}
    network = [f"model.image.encoder={encoder}"] if encoder else []
    return settings([], [], preset, [*network, *changes], inputs=images)


@with_photos
def test_the_default_network_is_that_of_the_shipped_captioner() -> None:
    config = ModelConfig(family="captioner", image=ImageConfig(size=64))
    encoder, stored = ImageEncoder(config), Captioner.read(SHIPPED).encoder.body
    encoder.load_pretrained()
    for name, parameter in stored.named_parameters():
        assert torch.equal(encoder.body.get_parameter(name), parameter), name
    earlier = ImageConfig(size=64, grid="blocks.17.expand")  # the papers' grid is an inner layer
    inner = ImageEncoder(ModelConfig(family="captioner", image=earlier))
    inner.load_pretrained()
    assert all(torch.equal(p, stored.get_parameter(n)) for n, p in inner.body.named_parameters())


@pytest.mark.parametrize(
    ("preset", "encoder", "expected"),
    [
        ("show-attend-tell-soft-small", "resnet50", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft-small", "vgg19", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft-small", "small-cnn", ("", 64, "none")),
        ("show-attend-tell-soft-nano", "mobilenet-edgetpu", ("", 224, "DEFAULT")),
        ("show-attend-tell-soft", "mobilenet-edgetpu", ("blocks.17.expand", 224, "DEFAULT")),
        ("show-attend-tell-soft", "patches", ("", 224, "DEFAULT")),
    ],
)
def test_a_network_brings_its_grid_size_and_weights(
    files: Files, preset: str, encoder: str, expected: tuple[str, int, str]
) -> None:
    option = chosen(files, preset, encoder)
    setting = chosen(files, preset, "", f"model.image.encoder={encoder}")
    image = option.model.image
    assert option == setting and (image.grid, image.size, image.weights) == expected
    if encoder not in ("resnet50", "vgg19"):  # which need torchvision
        check_buildable(option)


def test_missing_weights_are_reported_before_images_are_read(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edgetpu, "BOX", tmp_path)
    monkeypatch.setattr(image_data, "open_images", lambda path: pytest.fail("read"))
    config = chosen(files, "show-attend-tell-soft-small")
    with pytest.raises(ModelError, match="photos is missing.*model.image.weights=PATH"):
        list(train(config, tmp_path / "run", device="cpu", progress=lambda *progress: None))
    weights = f"model.image.weights={tmp_path / 'absent.npz'}"
    config = chosen(files, "show-attend-tell-soft-small", "", weights)
    with pytest.raises(ModelError, match=r"absent\.npz is missing"):
        list(train(config, tmp_path / "run", device="cpu", progress=lambda *progress: None))
