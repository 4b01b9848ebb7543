"""Erasure: images blurred in chosen cells, and what the words of a caption lose."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import torch
from PIL import Image, ImageChops
from torch.nn.functional import adaptive_avg_pool2d

from models.core.use_config import AlignConfig, SearchConfig, TokenizerConfig
from models.engines.captioner import Captioner
from models.engines.erasure import (
    blurred,
    choose_map_head,
    erasure,
    every_map,
    region_losses,
    token_log_probs,
)
from models.networks.bundle import Bundle
from models.signals.images import to_square
from models.text.tokenizer import END
from tests.models.engines.small import noise
from tests.models.small import small_model


def test_an_image_is_blurred_in_the_given_cells_alone() -> None:
    image, cells = noise(32), torch.zeros(4, 4, dtype=torch.bool)
    cells[1, 2] = True
    changed = ImageChops.difference(image, blurred(image, cells)).getbbox()
    assert changed is not None
    left, top, right, bottom = changed
    assert 16 <= left < right <= 24 and 8 <= top < bottom <= 16


def test_log_probabilities_are_those_of_the_search(soft_captioner: Path) -> None:
    captioner = Captioner.read(soft_captioner)
    image = noise(32)
    [caption] = captioner.caption([image])
    best = caption.hypotheses[0]
    found = token_log_probs(captioner, [image, image], best.ids)
    assert found.shape == (2, len(best.ids) + (not best.truncated or best.ids[-1] != END))
    assert float(found[0].sum()) == pytest.approx(best.log_prob, abs=1e-3)


def test_a_word_that_reads_no_image_loses_nothing(soft_captioner: Path) -> None:
    captioner, image = Captioner.read(soft_captioner), noise(32)
    [caption] = captioner.caption([image], attention=True)
    assert caption.attention is not None
    words = range(len(caption.attention.words))
    lost = erasure(captioner, image, caption, words, seed=1)
    assert len(lost) == len(words) and any(abs(one.attended) > 1e-4 for one in lost)
    flat = Image.new("RGB", image.size, "grey")  # blur does not change it
    [caption] = captioner.caption([flat], attention=True)
    assert caption.attention is not None
    chosen = range(len(caption.attention.words))
    for one in erasure(captioner, flat, caption, chosen, seed=1):
        assert one.attended == pytest.approx(0, abs=1e-5) == one.random


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
