"""Embedded data: drawn scenes whose captions are true, sentences by seed, and what they teach."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torch import Tensor

from attncli.caption.source import ImageTraining
from attncli.data import embedded, scenes
from attncli.data.scenes import COLOURS, SHAPES, SIDE, SIZES, Box, Scene
from attncli.train.command_line import settings
from attncli.train.events import Started
from models.engines.captioner import Captioner
from models.signals.images import open_image
from tests.attncli.training.small import run
from tests.attncli.training.small_captions import SMALL

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
    train, dev, test = embedded.split(8_000, 500, 500, seed=seed)
    assert (len(train), len(dev), len(test)) == (8_000, 500, 500)
    held_out = {pair.source for pair in dev + test}
    assert len(held_out) == 1_000
    assert not held_out & {pair.source for pair in train}
    assert len(embedded.split_tenses(8_000, 500, seed=seed).train) == 8_000


SCENES, DEV_SCENES = 1500, 200
QUICK = (
    *("train.steps=2000", "train.batch_tokens=512", "train.metric=loss", "train.patience=0"),
    *("train.evaluate_every=500", f"data.demo_size={SCENES}", "train.precision=fp32"),
)
HARD = ("train.steps=3000",)


def share(weights: Tensor, box: Box) -> float:
    """Return the part of a map (rows, columns) that lies on the cells of a box."""
    cell = SIDE // len(weights)
    rows = slice(box.top // cell, (box.bottom - 1) // cell + 1)
    columns = slice(box.left // cell, (box.right - 1) // cell + 1)
    return float(weights[rows, columns].sum())


def test_scenes_are_drawn_where_there_are_no_images(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageTraining, "demo_sizes", (0, 6, 6))
    changes = [s for s in SMALL if "image.size" not in s]
    where = f"data.features={tmp_path / 'features'}"
    config = settings([], [], "show-attend-tell-soft-nano", [*changes, where, "data.demo_size=20"])
    started = run(config, tmp_path / "run")[0]
    assert isinstance(started, Started) and started.dev == 6 and started.pairs > 40
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"images.tar", "train.tsv", "dev.tsv", "test.tsv", "model.safetensors"} <= names


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("read", ["soft", "hard"])
def test_attention_falls_on_the_thing_while_it_is_named(
    read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageTraining, "demo_sizes", (0, DEV_SCENES, DEV_SCENES))
    where = f"data.features={tmp_path / 'features'}"
    more = HARD if read == "hard" else ()
    config = settings([], [], f"show-attend-tell-{read}-nano", [*QUICK, *more, where])
    run(config, tmp_path / "run")
    shown = scenes.split(SCENES, DEV_SCENES, DEV_SCENES, seed=config.train.seed).test
    images = [open_image(scenes.png(scene)) for scene in shown]
    captions = Captioner.read(tmp_path / "run").caption(images, attention=True)
    true, on_it, on_the_other = 0, [], []
    for scene, caption in zip(shown, captions, strict=True):
        said = {possible.text: possible for possible in scene.captions}.get(caption.text)
        if said is None or caption.attention is None or len(scene.things) < 2:
            true += said is not None
            continue
        true += 1
        for word, thing, weights in zip(
            said.words, said.things, caption.attention.maps, strict=True
        ):
            if thing and (word in COLOURS or word in SHAPES):
                [other] = [one for one in scene.things if one != thing]
                on_it.append(share(weights, thing.box))
                on_the_other.append(share(weights, other.box))
    assert true > 0.6 * len(shown)
    assert sum(on_it) / len(on_it) > 2 * sum(on_the_other) / len(on_the_other)
