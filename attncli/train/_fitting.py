"""Defaults of a run from the number and the length of its examples."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

from attncli.training.config import TrainConfig
from models.core.settings import Tables

# with the batch of a preset, a few hundred pairs are a few updates, all of them in the warm-up
BATCHES = 25  # of a pass, at least, until they are SMALLEST
SMALLEST = 256  # positions of a batch
# sorting words, 800 pairs, exact match of 200 others: 92 % at 760 updates, 82 and 83 % by the
# recipes that were tried before
UPDATES = 800  # over which the rate falls to 0; more of them memorise few examples
INTERVAL = 100  # updates between evaluations
ENOUGH = 1 << 17  # positions, above which nothing is fitted
LETTERS = 4  # of a token, about
SHORT = 10  # a warm-up is at most one of so many parts of a run
CLOSED = 200  # different words that outputs consist of, at most, of which each is a token


class Measured(NamedTuple):
    """Sizes of the examples of a run, counted up to ENOUGH positions."""

    positions: float  # of the longer sides
    is_of_words: bool  # sources are single words
    words: int  # different ones in the targets


def measured(texts: Iterable[tuple[str, str]], enough: float = ENOUGH) -> Measured:
    """Return the sizes of pairs of texts, counted up to `enough` positions."""
    positions, several, count = 0.0, 0, 0
    words: set[str] = set()
    for pair in texts:
        count += 1
        # letters too, because some scripts write no spaces
        positions += 1 + max(max(len(text.split()), len(text) / LETTERS) for text in pair)
        several += len(pair[0].split()) > 1
        words.update(pair[1].split())
        # large data need no fitting, and are not read to their end
        if positions > enough:
            break
    return Measured(positions, count > 20 * several, len(words))


def short_warm_up(
    train: TrainConfig, given: Collection[str], texts: Iterable[tuple[str, str]]
) -> TrainConfig:
    """Return settings whose warm-up is a tenth of the run at most, unless the user set it.

    given: names of the settings that the user set. texts: the examples; read if the run ends after
    a number of epochs. Images and recordings have none, and keep the warm-up.
    """
    if "train.warmup" in given or not {"train.steps", "train.epochs"} & {*given}:
        return train
    updates = float(train.steps)
    if not updates and train.epochs:
        enough = SHORT * train.warmup * train.batch_tokens / train.epochs
        updates = train.epochs * measured(texts, enough).positions / train.batch_tokens
    most = max(1, math.ceil(updates / SHORT))
    return replace(train, warmup=min(train.warmup, most)) if updates else train


def new_weights(found: Measured, usual: TrainConfig, given: Collection[str]) -> Tables:
    """Return the defaults of [train] and [tokenizer] of little data; none of enough data.

    With the recipe of the preset a few hundred pairs are a few updates, all in the warm-up.
    usual: the recipe of the preset. given: names of the settings that the user set. A number of
    updates that the user sets is one of batches as usual, over which the rate falls. Otherwise it
    is that of the preset times the cube root of the share that a batch is of the usual one.
    """
    batch = max(SMALLEST, math.ceil(found.positions / BATCHES))
    if not found.positions or batch >= usual.batch_tokens or usual.steps:
        return {}
    batches = math.ceil(found.positions / batch)  # of a pass
    counted = {"schedule": "linear", "epochs": 0}
    train = (
        counted
        if "train.steps" in given
        else {
            "batch_tokens": batch,
            # the gradient of a small batch is noisier, so its rate is lower
            "lr": float(f"{usual.lr * (batch / usual.batch_tokens) ** (1 / 3):.2g}"),
            "schedule": "linear",
            "warmup": min(usual.warmup, max(INTERVAL, 4 * batches)),
            "evaluate_every": INTERVAL,
            "epochs": math.ceil(UPDATES / batches),
        }
    )
    if not found.is_of_words or "train.subword_sampling" in given:
        return {"train": train}
    # outputs of few different words are classes, which letters would only spell
    target = "word" if found.words <= CLOSED else "char"
    return {"train": train, "tokenizer": {"joint": False, "kind": "char", "target_kind": target}}
