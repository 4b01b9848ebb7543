"""Train and score captioners on Flickr8k: Show, Attend and Tell, soft and hard, and fine-tuned.

    python benchmarks/flickr8k.py --data DIR --work DIR --cnn FILE [--only NAME ...] [--threads N]

DIR holds images.tar (or a folder images), train.tsv and dev.tsv: file name, tab, caption. FILE has
the weights of MobileNet-EdgeTPU, its arch.json beside it. Each model is trained with `attn train`
(again the same command goes on with a broken run; the features are computed once, by the first),
then all are scored with `attn evaluate` on the dev pictures with a beam of 5.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Recipe(NamedTuple):
    """A preset and the settings that differ from its own."""

    preset: str
    settings: tuple[str, ...]


FROZEN = (
    "train.batch_tokens=1792",  # some 130 captions
    "train.epochs=14",
    "train.lr=0.0015",
    "train.ema=0.998",
    "model.attention.size=256",
    "model.image.fit=squash",  # as these pictures are already
)
# the weights of the paper's released program, which are a tenth and a fifth of ours by default
RELEASED = ("train.attention.reinforce=0.1", "train.attention.entropy=0.002")
RECIPES = {
    "soft": Recipe("show-attend-tell-soft-small", FROZEN),
    "hard": Recipe("show-attend-tell-hard-small", (*FROZEN, *RELEASED)),
    "soft-14x14": Recipe(
        "show-attend-tell-soft-small", (*FROZEN, "model.image.grid=blocks.17.expand")
    ),
    "fine-tuned": Recipe(
        "show-attend-tell-soft-small", (*FROZEN, "train.encoder_from=10", "train.encoder_lr=0.0001")
    ),
}


def main() -> None:
    """Parse, train what is not trained yet, score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--cnn", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(RECIPES), default=["soft", "hard"])
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("-s", "--setting", action="append", default=[], help="as of attn train")
    options = parser.parse_args()
    runs = [options.work / f"flickr8k-{name}" for name in options.only]
    for name, run in zip(options.only, runs, strict=True):
        train(RECIPES[name], run, options)
    score(runs, options)


def images(data: Path) -> Path:
    """The TAR file of the pictures, or their folder."""
    tar = data / "images.tar"
    return tar if tar.exists() else data / "images"


def train(recipe: Recipe, run: Path, options: argparse.Namespace) -> None:
    """Train one model, or go on training it."""
    data: Path = options.data
    arguments = ["--images", images(data), "--captions", data / "train.tsv"]
    arguments += ["--dev-captions", data / "dev.tsv", "--encoder-weights", options.cnn]
    arguments += ["-o", run, "--preset", recipe.preset, "--threads", options.threads]
    features = f"data.features={options.work / 'features'}"
    settings = [*recipe.settings, features, *options.setting]
    attn("train", *arguments, *(word for setting in settings for word in ("-s", setting)))


def score(runs: list[Path], options: argparse.Namespace) -> None:
    """Score all models on the dev pictures with a beam of 5."""
    models = [word for run in runs for word in ("-m", run)]
    where = ["--images", images(options.data), "--captions", options.data / "dev.tsv"]
    attn("evaluate", *models, *where, "--threads", options.threads)


def attn(*arguments: object) -> None:
    """Run the command line as a user would."""
    words = [str(argument) for argument in arguments]
    print("$ attn", *words, flush=True)
    subprocess.run([sys.executable, "-m", "attncli", *words], check=True)


if __name__ == "__main__":
    main()
