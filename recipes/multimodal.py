"""Translate sentences whose ambiguous word only an image decides, with and without the image.

    python recipes/multimodal.py --work WORK [--threads N]

An English sentence describes a drawn scene of one or two things, and calls the colour of one of
them warm, cool or dark. Each of these words has two translations, as warm has "rot" and "gelb", and
only the drawing tells which is right. The script draws scenes, trains a recurrent model and a
Transformer of the text and the image, and a model of the text alone, and prints the share of
ambiguous words of other scenes that each translates rightly. The same command continues an
interrupted run.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from flickr8k import attn

from attncli.data import scenes
from attncli.data.scenes import Scene, Thing

TRAIN, DEV, TEST, SEED = 1500, 100, 300, 1
VAGUE = {  # a word for two colours
    **{"red": "warm", "yellow": "warm", "green": "cool", "blue": "cool"},
    **{"purple": "dark", "black": "dark"},
}
NOUNS = {"circle": "Kreis", "square": "Quadrat", "triangle": "Dreieck", "cross": "Kreuz"}
MASCULINE = {"circle"}
SIZES = {"big": "groß", "small": "klein"}
COLOURS = {
    "red": "rot",
    "green": "grün",
    "blue": "blau",
    "yellow": "gelb",
    "purple": "violett",
    "black": "schwarz",
}
SETTINGS = (
    *("train.batch_tokens=512", "train.steps=600", "train.evaluate_every=200", "train.warmup=50"),
    *("train.metric=loss", "train.samples=0", "search.method=greedy"),
)
RECURRENT_RATE = 0.003
MODELS = (  # of text and image: family, combination, learning rate
    ("multi-source", "hierarchical", RECURRENT_RATE),
    ("multi-source-transformer", "flat", 0.001),
    ("multi-source-transformer", "hierarchical", 0.001),
)
IMAGE = (
    *("model.inputs=source,picture:image", "model.image.encoder=small-cnn"),
    "model.image.size=32",
)


class Row(NamedTuple):
    """A sentence with its image and its translation."""

    source: str
    picture: Path
    target: str
    place: int  # of the ambiguous word in the translation, in words


def main() -> None:
    """Draw, train the models and print the accuracy of each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--work", type=Path, required=True, help="folder of data and runs")
    parser.add_argument("--threads", type=int, default=0)
    options = parser.parse_args()
    work: Path = options.work.absolute()
    test = write_rows(work)
    rows = [f"{row.source}\t{row.picture}" for row in test]
    for family, combination, rate in MODELS:
        folder = work / f"{family}-{combination}"
        more = [*IMAGE, f"model.combination={combination}", f"train.lr={rate}"]
        more.append(f"data.features={work / 'features'}")
        train(work, "rows", folder, f"{family}-nano", options.threads, more)
        show(test, folder, rows)
    alone = [f"train.lr={RECURRENT_RATE}"]
    train(work, "pairs", work / "text-alone", "rnnsearch-nano", options.threads, alone)
    show(test, work / "text-alone", [row.source for row in test])


def write_rows(work: Path) -> list[Row]:
    """Draw the scenes and write their rows, with and without images; return those of the test."""
    (work / "images").mkdir(parents=True, exist_ok=True)
    rng, drawn = random.Random(SEED), scenes.split(TRAIN, DEV, TEST, seed=SEED)
    parts = {}
    for name, part in zip(("train", "dev", "test"), drawn, strict=True):
        parts[name] = [
            row_of(scene, work / "images" / f"{name}-{n:04}.png", rng)
            for n, scene in enumerate(part)
        ]
    for name in ("train", "dev"):
        table = [f"{row.source}\t{row.picture}\t{row.target}\n" for row in parts[name]]
        pairs = [f"{row.source}\t{row.target}\n" for row in parts[name]]
        (work / f"{name}.rows.tsv").write_text(
            "source\tpicture\ttarget\n" + "".join(table), encoding="utf-8"
        )
        (work / f"{name}.pairs.tsv").write_text("".join(pairs), encoding="utf-8")
    return parts["test"]


def row_of(scene: Scene, picture: Path, rng: random.Random) -> Row:
    """Draw a scene, and describe it with one ambiguous word."""
    if not picture.exists():
        picture.write_bytes(scenes.png(scene))
    things = rng.sample(scene.things, len(scene.things))
    vague = rng.randrange(len(things))
    colours = [
        VAGUE[thing.colour] if n == vague else thing.colour for n, thing in enumerate(things)
    ]
    english = [
        f"a {thing.size} {colour} {thing.shape}"
        for colour, thing in zip(colours, things, strict=True)
    ]
    german = " und ".join(map(phrase, things))
    return Row(" and ".join(english), picture, german, 5 * vague + 2)


def phrase(thing: Thing) -> str:
    """Return a thing in German, in the nominative."""
    end = "er" if thing.shape in MASCULINE else "es"
    return f"ein {SIZES[thing.size]}{end} {COLOURS[thing.colour]}{end} {NOUNS[thing.shape]}"


def train(
    work: Path, kind: str, folder: Path, preset: str, threads: int, more: Sequence[str]
) -> None:
    """Train a model, or continue."""
    files = [work / f"train.{kind}.tsv", "--dev", work / f"dev.{kind}.tsv", "-o", folder]
    words = [word for setting in (*SETTINGS, *more) for word in ("-s", setting)]
    attn("train", *files, "--preset", preset, "--threads", threads, *words)


def show(test: Sequence[Row], folder: Path, sources: Sequence[str]) -> None:
    """Print the share of right ambiguous words, and of right sentences."""
    from models import load

    outputs = [each.text for each in load(folder, "translate").translate(sources)]
    words = [(text.split()[row.place :][:1], row) for text, row in zip(outputs, test, strict=True)]
    right = sum(found == row.target.split()[row.place :][:1] for found, row in words)
    whole = sum(text == row.target for text, row in zip(outputs, test, strict=True))
    shares = f"ambiguous word {right / len(test):6.1%}  sentence {whole / len(test):6.1%}"
    print(f"{folder.name:40} {shares}", flush=True)


if __name__ == "__main__":
    main()
