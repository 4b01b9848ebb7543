"""Train and score `scenes`, the captioner of drawn shapes in the box: Show, Attend and Tell.

    python recipes/scenes.py train --work WORK [--threads N]
    python recipes/scenes.py score [-m MODEL ...]

`train` draws scenes, whose captions name each thing's size, colour and shape, and writes the cells
that each word describes: those whose centre is inside the thing's box. These regions guide the
attention. The same command continues an interrupted run.

`score` captions other scenes. A caption is right if it is one of the scene's captions. A content
word of a right caption points at its thing if more than half of its attention is on those cells.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from flickr8k import attn

from attncli.caption.source import ImageTraining
from attncli.data import scenes
from attncli.data.scenes import SIDE, Box, SceneCaption

SCENES, SEED = 6000, 1
TESTED, TEST_SEED = 500, 2024  # the scene of `make demo` is neither trained on nor tested
CELLS = 8  # of each side: the grid of small-cnn for a scene
SETTINGS = (
    *("train.attention.regions=0.3", "train.metric=loss", "train.patience=0", "train.average=0"),
    *("train.batch_tokens=1024", "train.schedule=linear", "train.warmup=200", "train.steps=2500"),
    *("train.evaluate_every=500", "search.length_penalty=0", "train.samples=0"),
)


class Pointing(NamedTuple):
    """Scores of a captioner on drawn scenes."""

    right: int  # captions
    scenes: int
    inside: list[float]  # of each content word of a right caption, the attention on its thing

    def __str__(self) -> str:
        """Return the scores as a line."""
        points = sum(share > 0.5 for share in self.inside) / max(1, len(self.inside))
        mean = sum(self.inside) / max(1, len(self.inside))
        return (
            f"right captions {self.right / self.scenes:.1%}  content words that point at their "
            f"thing {points:.1%}  mean attention on it {mean:.1%}"
        )


def main() -> None:
    """Parse the command line and run one part."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", choices=["train", "score"])
    parser.add_argument("--work", type=Path, help="folder of the run; needed to train")
    parser.add_argument("-m", "--model", nargs="*", default=["scenes"])
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    if options.part == "score":
        for model in options.model:
            print(f"{model}  {score(model)}")
    elif options.work is None:
        parser.error("train needs --work")
    else:
        train(options.work, options.threads)


def train(work: Path, threads: int) -> None:
    """Draw the scenes and train, or continue."""
    work.mkdir(parents=True, exist_ok=True)
    if not (work / "train.regions").exists():
        draw(work)
    files = ["--images", work / "images.tar", "--captions", work / "train.tsv"]
    files += ["--dev", work / "dev.tsv", "-o", work / "scenes"]
    settings = [*SETTINGS, f"data.regions={work / 'train.regions'}"]
    settings.append(f"data.features={work / 'features'}")
    words = [word for setting in settings for word in ("-s", setting)]
    attn("train", *files, "--preset", "show-attend-tell-soft-nano", "--threads", threads, *words)


def draw(work: Path) -> None:
    """Write images, captions and links. A scene of one thing has its caption four times."""
    for name, content in ImageTraining.demo_contents((SCENES, *ImageTraining.demo_sizes[1:]), SEED):
        (work / name).write_bytes(content)
    rows: list[str] = []
    regions: list[str] = []
    for number, scene in enumerate(scenes.split(SCENES, 0, 0, seed=SEED).train):
        captions = scene.captions * (4 // len(scene.captions))
        rows.append("\t".join([f"train-{number:05}.png", *(one.text for one in captions)]))
        regions += map(links, captions)
    for name, lines in (("train.tsv", rows), ("train.regions", regions)):
        (work / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def links(caption: SceneCaption) -> str:
    """Return the links of cell and word of a caption, in Pharaoh format."""
    things = enumerate(zip(caption.words, caption.things, strict=True))
    named = ((n, thing) for n, (word, thing) in things if thing and word != "a")
    return " ".join(f"{cell}-{n}" for n, thing in named for cell in cells(thing.box))


def cells(box: Box) -> Iterator[int]:
    """Yield the cells, row by row, whose centre is inside a box."""
    side = SIDE // CELLS
    for cell in range(CELLS * CELLS):
        y, x = (side * place + side / 2 for place in divmod(cell, CELLS))
        if box.top <= y < box.bottom and box.left <= x < box.right:
            yield cell


def score(model: str) -> Pointing:
    """Return the scores of a captioner on scenes."""
    from models.engines.captioner import Captioner
    from models.signals.images import open_image
    from models.storage.installed import find_model

    captioner = Captioner.read(find_model(model))
    drawn = scenes.split(0, 0, TESTED, seed=TEST_SEED).test
    images = [open_image(scenes.png(scene)) for scene in drawn]
    right, inside = 0, []
    for scene, found in zip(drawn, captioner.caption(images, attention=True), strict=True):
        said = {one.text: one for one in scene.captions}.get(found.text)
        if said is None or found.attention is None:
            continue
        right += 1
        maps = found.attention.maps.flatten(1)
        for word, thing, weights in zip(said.words, said.things, maps, strict=True):
            if thing and word != "a":
                inside.append(float(weights[list(cells(thing.box))].sum()))
    return Pointing(right, len(drawn), inside)


if __name__ == "__main__":
    main()
