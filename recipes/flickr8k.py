"""Train and score captioners on Flickr8k: Show, Attend and Tell, soft and hard, and fine-tuned.

    python recipes/flickr8k.py --data DIR --work DIR --cnn FILE [--only NAME ...] [--threads N]

DIR holds images.tar (or a folder images), train.tsv and dev.tsv: file name, tab, caption. FILE has
the weights of MobileNet-EdgeTPU; its arch.json is in the same folder. Each model is trained with
`attn train` (the same command continues an interrupted run; image features are computed once), then
all are scored with `attn evaluate captions` on the dev images with a beam of 5.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Recipe(NamedTuple):
    """Where a model begins, and the settings that differ from there."""

    start: str  # a preset, or another recipe whose model it goes on from
    settings: tuple[str, ...]


EACH = ("train.batch_tokens=1792", "train.ema=0.998", "train.average=0")  # some 130 captions
FRESH = (
    *EACH,
    "train.lr=0.0015",
    "model.attention.size=256",
    "model.image.fit=squash",  # as these images are already
)
FURTHER = (*EACH, "train.plateau_patience=1", "search.length_penalty=0.6")
REWARDED = (
    *("train.batch_tokens=1792", "train.ema=0.99", "train.average=0"),
    *("train.lr=0.001", "train.warmup=20", "train.schedule=constant"),
    *("train.self_critical_lr=0.0002", "train.evaluate_every=101", "search.length_penalty=0.6"),
)
RECIPES = {
    "first": Recipe("show-attend-tell-soft-small", (*FRESH, "train.epochs=10")),
    "second": Recipe("first", (*FURTHER, "train.lr=0.0004", "train.warmup=50", "train.epochs=1")),
    "third": Recipe(
        "second",
        (
            *FURTHER,
            *("train.lr=0.001", "train.warmup=50", "train.epochs=3", "model.image.dropout=0.3"),
        ),
    ),
    "soft": Recipe(
        "first",
        (
            *FURTHER,
            *("train.lr=0.001", "train.warmup=50", "train.epochs=6", "model.image.dropout=0.5"),
        ),
    ),
    "self-critical": Recipe("soft", (*REWARDED, "train.epochs=2")),
    "hard": Recipe(
        "second",
        (
            *(*EACH, "train.plateau_patience=3", "search.length_penalty=0.6"),
            *("train.lr=0.0004", "train.warmup=50", "train.epochs=3", "train.evaluate_every=110"),
            *("model.attention.read=hard", "model.attention.read_decode=expected"),
            "train.attention.coverage=none",
            *("train.attention.reinforce=0.1", "train.attention.entropy=0.002"),
        ),
    ),
    "hard-self-critical": Recipe(
        "hard",
        (
            *(*REWARDED, "train.epochs=1", "model.image.dropout=0.5"),
            "train.attention.coverage=none",
        ),
    ),
    "fine-tuned": Recipe(
        "third",
        (
            *FURTHER,
            *("train.lr=0.0005", "train.warmup=50", "train.epochs=4"),
            *("train.encoder_from=1", "train.encoder_lr=0.0001"),
        ),
    ),
    "fine-tuned-self-critical": Recipe(
        "fine-tuned", (*REWARDED, "train.epochs=2", "model.image.dropout=0.5")
    ),
    "fine-tuned-longer": Recipe(
        "fine-tuned-self-critical",
        (
            *(*REWARDED, "train.epochs=3", "train.ema=0.998"),
            *("train.evaluate_every=202", "model.image.dropout=0.5"),
        ),
    ),
    "fine-tuned-together": Recipe(
        "fine-tuned-self-critical",
        (
            *(*REWARDED, "train.epochs=2"),
            *("train.encoder_from=1", "train.encoder_lr=0.0002"),
        ),
    ),
    "soft-14x14": Recipe(
        "show-attend-tell-soft-small",
        (*FRESH, "train.epochs=10", "model.image.grid=blocks.17.expand"),
    ),
}
SHOWN = ["soft", "self-critical", "hard", "hard-self-critical"]


def main() -> None:
    """Parse, train what is not trained yet, score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--cnn", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(RECIPES), default=SHOWN)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("-s", "--setting", action="append", default=[], help="as of attn train")
    options = parser.parse_args()
    for name in options.only:
        train(name, options)
    score([folder(name, options.work) for name in options.only], options)


def folder(name: str, work: Path) -> Path:
    """Where the model of a recipe is."""
    return work / f"flickr8k-{name}"


def images(data: Path) -> Path:
    """Return the TAR file of the images, or their folder."""
    tar = data / "images.tar"
    return tar if tar.exists() else data / "images"


def train(name: str, options: argparse.Namespace) -> None:
    """Train one model, or go on training it; first the one that it begins with."""
    recipe, data = RECIPES[name], options.data
    if recipe.start in RECIPES:
        train(recipe.start, options)
        start = ["--start-from", folder(recipe.start, options.work)]
    else:
        start = ["--preset", recipe.start, "-s", f"model.image.weights={options.cnn}"]
    arguments = ["--images", images(data), "--captions", data / "train.tsv"]
    arguments += ["--dev", data / "dev.tsv", *start]
    arguments += ["-o", folder(name, options.work), "--threads", options.threads]
    features = f"data.features={options.work / 'features'}"
    settings = [*recipe.settings, features, *options.setting]
    attn("train", *arguments, *(word for setting in settings for word in ("-s", setting)))


def score(runs: list[Path], options: argparse.Namespace) -> None:
    """Score all models on the dev images with a beam of 5."""
    models = [word for run in runs for word in ("-m", run)]
    where = ["--images", images(options.data), options.data / "dev.tsv"]
    attn("evaluate", "captions", *models, *where, "--threads", options.threads)


def attn(*arguments: object) -> None:
    """Run the command line as a user would."""
    words = [str(argument) for argument in arguments]
    print("$ attn", *words, flush=True)
    subprocess.run([sys.executable, "-m", "attncli", *words], check=True)


if __name__ == "__main__":
    main()
