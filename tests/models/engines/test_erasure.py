"""Erasure: images blurred in chosen cells, and what the words of a caption lose."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image, ImageChops

from models.engines.captioner import Captioner
from models.engines.erasure import blurred, erasure, token_log_probs
from models.text.tokenizer import END
from tests.models.engines.small import noise


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
