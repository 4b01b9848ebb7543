"""Embedded data: drawn scenes whose captions are true; sentences in an order by seed."""

from __future__ import annotations

import io
import itertools

import numpy as np
import pytest
from PIL import Image

from attncli.data import grammar, scenes
from attncli.data.scenes import COLOURS, SHAPES, SIDE, SIZES, Scene

SOME = list(itertools.islice(scenes.generate(1), 200))


def pixels(scene: Scene) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(scenes.png(scene))))


def test_things_are_inside_their_boxes_in_their_colour_and_nowhere_else() -> None:
    for scene in SOME[:50]:
        shown = pixels(scene)
        assert shown.shape == (SIDE, SIDE, 3)
        drawn = np.any(np.abs(shown.astype(int) - scenes.GROUND) > 8, axis=-1)
        for thing in scene.things:
            left, top, right, bottom = thing.box
            assert (right - left, bottom - top) == (SIZES[thing.size],) * 2
            inside = drawn[top:bottom, left:right]
            assert inside.any(0).all() and inside.any(1).all()  # to all four sides
            middle = shown[(top + bottom) // 2, (left + right) // 2]
            assert np.abs(middle.astype(int) - COLOURS[thing.colour]).max() < 30
            drawn[top:bottom, left:right] = False
        assert not drawn.any()


def test_each_word_of_a_caption_is_linked_to_its_object() -> None:
    for scene in SOME:
        for caption in scene.captions:
            assert len(caption.words) == len(caption.things)
            for word, thing in zip(caption.words, caption.things, strict=True):
                if word in SHAPES or word in COLOURS or word in SIZES:
                    assert thing in scene.things and word in thing[:3]
        assert len({caption.text for caption in scene.captions}) in (1, 4)


def test_scenes_depend_on_the_seed_and_parts_share_none() -> None:
    parts = scenes.split(100, 30, 30, seed=3)
    assert parts == scenes.split(100, 30, 30, seed=3) != scenes.split(100, 30, 30, seed=4)
    every = [scene for part in parts for scene in part]
    assert len(set(every)) == 160
    assert [len(scene.things) for scene in every].count(1) in range(16, 48)


@pytest.mark.parametrize("seed", [1, 10])
def test_splits_share_no_source_sentence(seed: int) -> None:
    train, dev, test = grammar.split(8_000, 500, 500, seed=seed)
    assert (len(train), len(dev), len(test)) == (8_000, 500, 500)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 1_000
    assert not held_out & {pair.source for pair in train}
    assert len(grammar.split_tenses(8_000, 500, seed=seed).train) == 8_000
