"""Drawn scenes: a captioner without data learns to say what is there, looking where it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from torch import Tensor

from attncli.caption.source import ImageTraining
from attncli.data import scenes
from attncli.data.scenes import COLOURS, SHAPES, SIDE, Box
from attncli.training.command_line import settings
from attncli.training.interfaces import Started
from models.engines.captioner import Captioner
from models.signals.images import open_image
from tests.attncli.training.small import run
from tests.attncli.training.small_captions import SMALL

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
