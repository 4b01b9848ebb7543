"""Train and score the small presets on Multi30k, English to German.

    python benchmarks/multi30k.py --data DIR --work DIR [--text tok|raw] [--only NAME ...]

DIR holds train, val and test_2016_flickr as .en and .de, and the same under tok/, lower-cased and
tokenised (files named *.lc.norm.tok.*). Each model is trained with `attn train` (the same command
continues an interrupted run), then all are scored with `attn evaluate`: a table, and BLEU by source
length (Bahdanau et al. 2015, figure 2) in lengths-TEXT.png in the work folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

PIECES = "tokenizer.size=8000"


class Recipe(NamedTuple):
    """A preset and the settings that differ from its own."""

    preset: str
    settings: tuple[str, ...]


RNN = (
    "train.batch_tokens=2048",
    "train.lr=0.001",
    "train.warmup=500",
    "train.epochs=25",
    "train.ema=0.998",
    "train.plateau_patience=2",
)
RECIPES = {
    "transformer": Recipe(
        "transformer-tiny",
        (
            "train.steps=7000",
            "train.ema=0.999",
            "train.evaluate_every=350",
            "train.patience=8",
        ),
    ),
    "rnnsearch": Recipe("rnnsearch-small", RNN),
    "seq2seq": Recipe("seq2seq-small", RNN),
}


def main() -> None:
    """Parse, train what is not trained yet, score."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--text", choices=("tok", "raw"), default="tok")
    parser.add_argument("--only", nargs="*", choices=list(RECIPES), default=list(RECIPES))
    options = parser.parse_args()
    runs = [options.work / f"{name}-{options.text}" for name in options.only]
    for name, run in zip(options.only, runs, strict=True):
        train(RECIPES[name], run, options.data, options.text)
    score(runs, options.data, options.text, options.work / f"lengths-{options.text}.png")


def files(data: Path, part: str, text: str) -> list[str]:
    """Return the English and the German file of one split."""
    if text == "tok":
        return [str(data / "tok" / f"{part}.lc.norm.tok.{side}") for side in ("en", "de")]
    return [str(data / f"{part}.{side}") for side in ("en", "de")]


def train(recipe: Recipe, run: Path, data: Path, text: str) -> None:
    """Train one model, or go on training it."""
    settings = [PIECES, *recipe.settings]
    if text == "tok":
        settings.append("train.bleu_tokenizer=none")
    arguments = [*files(data, "train", text), "--dev", *files(data, "val", text), "-o", str(run)]
    arguments += ["--preset", recipe.preset]
    attn("train", *arguments, *(word for setting in settings for word in ("-s", setting)))


def score(runs: list[Path], data: Path, text: str, picture: Path) -> None:
    """Score all models on test_2016_flickr with a beam of 5, and draw BLEU by length."""
    models = [word for run in runs for word in ("-m", str(run))]
    test = files(data, "test_2016_flickr", text)
    tokenize = "none" if text == "tok" else "13a"
    attn("evaluate", *models, "-s", f"scores.tokenize={tokenize}", "--plot", str(picture), *test)


def attn(*arguments: str) -> None:
    """Run the command line as a user would."""
    command = [sys.executable, "-m", "attncli", *arguments]
    print("$ attn", *arguments, flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
