"""The weights that a Transformer shows, and slots that its decoder reads as they are."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from models.core.settings import merged
from models.core.types import VocabularySizes
from models.networks.bundle import build
from models.networks.config import VisionTransformerConfig
from models.networks.text_families import Transformer
from models.networks.transformer import TransformerDecoder
from tests.models.small import add_noise, pairs, small_config

CONFIG = dataclasses.replace(small_config("transformer-nano"), decoder_layers=3)
BATCH = pairs([4, 7, 2], [5, 3, 6])


def randomised(module: Any) -> Any:
    add_noise(module, 0.2)
    return module.eval()


def test_the_weights_shown_are_the_last_layer_but_ones() -> None:
    torch.manual_seed(1)
    model = randomised(Transformer(CONFIG, VocabularySizes(30, 30, True)))
    before = model.teacher_force(BATCH, want_weights=True).weights
    assert before is not None and isinstance(model.decoder, TransformerDecoder)
    for index, matters in ((2, False), (1, True)):
        layer: Any = model.decoder.layers[index]
        with torch.no_grad():
            layer.cross_attention.query.weight.mul_(3)
        after = model.teacher_force(BATCH, want_weights=True).weights
        assert after is not None and torch.equal(before, after) is not matters


@torch.no_grad()
def test_a_captioner_reads_the_slots_of_a_vision_transformer_as_they_are() -> None:
    image = VisionTransformerConfig(size=32, grid="8", width=20, project=False)
    base = merged(CONFIG, {"family": "captioner-transformer", "encoder_layers": 0})
    config = dataclasses.replace(base, image=image)
    model = randomised(build(config, VocabularySizes(0, 30, False)))
    images, mask = torch.rand(2, 3, 32, 32), torch.ones(2, 17, dtype=torch.bool)
    memory = model.encode(images, mask)
    assert memory.values.shape == (2, 17, 20)
    alone = model.encode(images[1:], mask[1:]).values
    torch.testing.assert_close(alone, memory.values[1:], atol=1e-5, rtol=1e-5)
    half = model.encoder.features(torch.rand(1, 3, 32, 16))  # other sizes: interpolated positions
    assert half.shape == (1, 9, 20)
