"""The image encoder: cells row by row, features equal to images, frozen or trained."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import torch

from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.config import CaptionerConfig
from models.networks.edgetpu import Cnn
from models.networks.image_encoder import ImageEncoder, identity, kind_of
from tests.models.small import IMAGES, small_config


def encoder_of(**image: Any) -> ImageEncoder:
    config = dataclasses.replace(IMAGES, **image)
    torch.manual_seed(1)
    return ImageEncoder(CaptionerConfig(image=config))


@pytest.mark.parametrize(
    ("encoder", "grid"),
    [
        ("small-cnn", ""),
        *(("mobilenet-edgetpu", grid) for grid in ("", "stem", "blocks.1", "blocks.2.expand")),
    ],
)
@pytest.mark.parametrize("size", [32, 33])
def test_the_shape_of_the_grid_follows_from_the_strides(encoder: str, grid: str, size: int) -> None:
    config = dataclasses.replace(IMAGES, encoder=encoder, grid=grid, size=size)
    network = kind_of(encoder)(config)
    assert network.grid_shape(config) == Cnn.grid_shape(network, config)


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
