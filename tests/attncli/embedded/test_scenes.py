"""Drawn scenes: what is said is true, and is where it is said to be."""

from __future__ import annotations

import io
import itertools

import numpy as np
from PIL import Image

from attncli.embedded.scenes import (
    COLOURS,
    GROUND,
    SHAPES,
    SIDE,
    SIZES,
    Scene,
    generate,
    png,
    split,
)

SOME = list(itertools.islice(generate(1), 200))


def pixels(scene: Scene) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(png(scene))))


def test_things_are_inside_their_boxes_in_their_colour_and_nowhere_else() -> None:
    for scene in SOME[:50]:
        shown = pixels(scene)
        assert shown.shape == (SIDE, SIDE, 3)
        drawn = np.any(np.abs(shown.astype(int) - GROUND) > 8, axis=-1)
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
    parts = split(100, 30, 30, seed=3)
    assert parts == split(100, 30, 30, seed=3) != split(100, 30, 30, seed=4)
    every = [scene for part in parts for scene in part]
    assert len(set(every)) == 160
    assert [len(scene.things) for scene in every].count(1) in range(16, 48)
