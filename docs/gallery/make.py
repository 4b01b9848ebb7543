"""Make the pictures of docs/gallery/ from the embedded data.

    python docs/gallery/make.py             # trains into runs/gallery, then draws
    python docs/gallery/make.py --draw      # draws again from existing runs

Training takes about ten minutes of one core: three mechanisms on the embedded grammar,
and one captioner on drawn scenes. Every step is an `attn` command, which is printed before it runs.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

from attncli.data import scenes

GALLERY = Path(__file__).resolve().parent
WORK = Path("runs/gallery")
SOURCE = "The old woman does not see the small red car."
TARGET = "Die alte Frau sieht das kleine rote Auto nicht."
MECHANISMS = ("none", "general", "additive")
SCENES = 2
SETTINGS = ("--threads", "1", "--device", "cpu")


def main() -> None:
    """Train unless `--draw` is given, then draw everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="draw only, from existing runs")
    if not parser.parse_args().draw:
        train()
    draw_comparison()
    draw_heat_maps()
    draw_scenes()
    draw_guided_scenes()


def train() -> None:
    """Train the mechanisms under one budget, and a captioner."""
    budget = (
        "train.steps=1000",
        "train.evaluate_every=250",
        "train.metric=loss",
        "train.average=0",
    )
    rate = ("train.schedule=inverse_sqrt", "train.lr=0.005", "train.warmup=150", "train.ema=0.99")
    model = ("model.bidirectional=true", "train.precision=fp32")
    attn(
        *("models", "compare", *MECHANISMS, "-o", str(WORK / "compare"), "--seeds", "1"),
        *("-p", "rnnsearch-nano", *given(*budget, *rate, *model), *SETTINGS),
    )
    steps = ("train.steps=1500", "train.evaluate_every=250", "train.metric=loss")
    small = ("train.batch_tokens=512", "train.precision=fp32", "data.demo_size=1500")
    attn(
        *("train", "-p", "show-attend-tell-soft-nano", "-o", str(WORK / "scenes")),
        *(*given(*steps, *small), *SETTINGS),
    )


def draw_comparison() -> None:
    """Draw BLEU by source length and the learning curves."""
    models = [
        part for name in ("none", "general", "additive") for part in ("-m", str(folder(name)))
    ]
    test = WORK / "compare" / "test.tsv"
    plot = ("--by-length", "-s", "lengths.step=2", "--plot", str(GALLERY / "bleu-by-length.svg"))
    attn("evaluate", *models, str(test), *plot)
    copy(folder("additive") / "curves.png", GALLERY / "curves.png")


def draw_heat_maps() -> None:
    """Draw the attention of each mechanism on one sentence pair."""
    pair = f"{SOURCE} ||| {TARGET}\n"
    for name in MECHANISMS[1:]:
        picture = GALLERY / f"align-{name}.svg"
        attn("align", "-m", str(folder(name)), "--picture", str(picture), text=pair)


def draw_scenes() -> None:
    """Draw the attention maps of the first test scenes."""
    run = WORK / "scenes"
    with tarfile.open(run / "images.tar") as archive:
        names = sorted(name for name in archive.getnames() if name.startswith("test-"))[:SCENES]
        for name in names:
            member = archive.extractfile(name)
            assert member
            (WORK / name).write_bytes(member.read())
    for number, name in enumerate(names, 1):
        picture = GALLERY / f"scene-{number}.png"
        attn("caption", "-m", str(run), str(WORK / name), "--picture", str(picture))


def draw_guided_scenes() -> None:
    """Draw the attention maps of the captioner in the box for two scenes of its test set."""
    for number, scene in enumerate(scenes.split(0, 0, SCENES, seed=2024).test, 3):
        path = WORK / f"scene-{number}.png"
        path.write_bytes(scenes.png(scene))
        attn("caption", "-m", "scenes", str(path), "--picture", str(GALLERY / path.name))


def folder(mechanism: str) -> Path:
    """Return the run folder of a mechanism."""
    return WORK / "compare" / mechanism / "seed-1"


def given(*values: str) -> list[str]:
    """Return `-s` options for these settings."""
    return [part for value in values for part in ("-s", value)]


def copy(source: Path, target: Path) -> None:
    """Copy a file."""
    target.write_bytes(source.read_bytes())


def attn(*arguments: str, text: str | None = None) -> None:
    """Print an attn command and run it."""
    print("attn", shlex.join(arguments), flush=True)
    command = [sys.executable, "-m", "attncli", *arguments]
    subprocess.run(command, input=text, text=True, check=True)


if __name__ == "__main__":
    main()
