"""Which parameters each optimiser updates, by how much, and at which learning rate."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from attncli.training.optimisers import OPTIMISERS, optimiser
from attncli.training.settings.config import TrainConfig
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.encoder_decoder import EncoderDecoder
from models.networks.image_encoder import pretrained_encoder
from models.storage.presets import model_config

RATE = 0.01
PRESETS = (  # one of each family
    *("transformer-nano", "rnnsearch-nano", "seq2seq-nano", "luong-nano", "bilstm-attention-nano"),
    *("classifier-transformer-small", "show-attend-tell-soft-nano", "captioner-transformer-nano"),
    *("multi-source-nano", "multi-source-transformer-nano"),
)


def built(preset: str, *, pretrained: bool = False) -> EncoderDecoder:
    """Return a new model with a gradient of normal numbers, the same each time.

    pretrained: its image network counts as pretrained, and has a matrix too.
    """
    torch.manual_seed(1)
    config = model_config(preset)
    if pretrained:
        config = replace(config, image=replace(config.image, weights="DEFAULT"))
    model = build(config, VocabularySizes(50, 50, True))
    if encoder := pretrained_encoder(model):
        encoder.body.matrix = nn.Linear(3, 4)
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    return model


def updates(model: EncoderDecoder, config: TrainConfig) -> dict[str, Tensor]:
    """Update a model once; return what was subtracted from each parameter."""
    before = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
    found = optimiser(model, model.parameters(), config)
    for group in found.param_groups:
        group["lr"] = config.lr * group["share"]
    found.step()
    return {name: before[name] - p.detach() for name, p in model.named_parameters()}


@pytest.mark.parametrize("preset", PRESETS)
def test_muon_makes_updates_of_hidden_matrices_orthogonal_and_leaves_the_rest_to_adam(
    preset: str,
) -> None:
    adam, muon = (
        updates(built(preset), TrainConfig(lr=RATE, optimiser=name)) for name in ("adam", "muon")
    )
    by_muon = {name for name in adam if not torch.equal(adam[name], muon[name])}
    assert by_muon and not any(is_outer(name) for name in by_muon)
    for name in adam.keys() - by_muon:
        shape = adam[name].shape
        assert len(shape) != 2 or min(shape) == 1 or is_outer(name), name
    for name in by_muon:
        size = RATE * 0.2 * max(muon[name].shape) ** 0.5
        singular = torch.linalg.svdvals(muon[name]) / size
        assert singular.median() > 0.6 and singular.max() < 1.3, name


def is_outer(name: str) -> bool:
    """Return True for the weights of an embedding or of the output layer."""
    return name == "output.weight" or name.endswith("embedding.weight")


@pytest.mark.parametrize("name", OPTIMISERS)
def test_a_pretrained_image_network_has_its_own_learning_rate(name: str) -> None:
    fast, slow = (
        updates(
            built("show-attend-tell-soft-nano", pretrained=True),
            TrainConfig(lr=RATE, optimiser=name, encoder_lr=RATE / 10, encoder_from=start),
        )
        for start in (0, 1)
    )
    for key, update in fast.items():
        share = 0.1 if key.startswith("encoder.body.") else 1.0
        assert torch.allclose(slow[key], share * update, rtol=1e-3, atol=1e-7), key
