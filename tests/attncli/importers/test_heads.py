"""The head of an imported captioner that draws its maps, chosen by erasure."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from torch.nn.functional import adaptive_avg_pool2d

from attncli.importers.heads import choose_map_head, every_map, region_losses
from models.core.use_config import AlignConfig, SearchConfig, TokenizerConfig
from models.engines.captioner import Captioner
from models.networks.bundle import Bundle
from models.signals.images import to_square
from tests.models.engines.small import noise
from tests.models.small import small_model


@pytest.fixture
def layered(soft_captioner: Path) -> Captioner:
    """Return a captioner of several heads, with random weights."""
    tokenizer = Captioner.read(soft_captioner).tokenizer
    model = small_model("captioner-transformer-nano", len(tokenizer.target))
    search = SearchConfig(method="greedy", max_caption=8)
    return Captioner(Bundle(model, tokenizer, TokenizerConfig(), search))


def test_the_head_of_the_maps_is_chosen_by_erasure(layered: Captioner) -> None:
    """Its weights on the regions, times what the words lose without them, in plain loops."""
    image = to_square(noise(40), layered.config.image)
    ids = layered.caption([image])[0].hypotheses[0].ids
    lost, maps = region_losses(layered, image, ids), every_map(layered, image, ids)
    layers, heads = layered.model.decoder.attention_shape
    assert maps.shape[:2] == (layers, 1 + heads) and heads > 1
    torch.testing.assert_close(maps[:, 0], maps[:, 1:].mean(1))
    gained = torch.zeros(layers, 1 + heads)
    for layer, head in product(range(layers), range(1 + heads)):
        for word, table in enumerate(maps[layer, head]):
            regions = adaptive_avg_pool2d(table[None], 3)[0]
            gained[layer, head] += (regions / regions.sum() * lost[word].clamp(0)).sum()
    best = gained.max()
    near = gained[:, 0] >= 0.9 * best
    chosen = choose_map_head(layered, [image])
    found = gained[chosen.layer - 1]
    assert near[chosen.layer - 1] if chosen.head == 0 else found[chosen.head] == best


def test_maps_are_those_of_the_stored_head(layered: Captioner) -> None:
    image = to_square(noise(40), layered.config.image)
    ids = layered.caption([image])[0].hypotheses[0].ids
    maps = every_map(layered, image, ids)
    for layer, head in ((1, 0), (maps.shape[0], 2)):
        layered.alignment = AlignConfig(layer=layer, head=head)
        [caption] = layered.caption([image], attention=True)
        assert caption.attention is not None
        expected = maps[layer - 1, head]
        expected = expected / expected.sum((-1, -2), keepdim=True)
        torch.testing.assert_close(caption.attention.maps, expected)
        assert caption.attention.place.startswith(f"layer {layer}, ")
