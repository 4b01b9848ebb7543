"""Measure the processor seconds that training recipes need to reach a dev loss.

    python benchmarks/time_to_quality.py --data DIR --work WORK [--only TASK ...] [--seeds 1 2]
        [--recipes before adam now] [--try NAME SETTING ...] [--peer-python peer/bin/python]

DIR has multi30k/ (train and val in .en and .de), tatoeba/ (eng-deu.train.tsv.xz, eng-deu.dev.tsv)
and flickr8k/ (images.tar, train.tsv, dev.tsv). A training has a task, a recipe and a seed.

    before   the preset as it was in version 0.1.0, with Adam
    adam     the preset as it is, but with Adam
    now      the preset as it is
    NAME     the preset with the settings of --try

All recipes but the first have half its updates. The target of a task is the dev loss at the end of
`before`, the mean of its seeds. Seconds are those of the processor. They count updates and
batching, not evaluations; between two evaluations they are interpolated. WORK/runs.jsonl stores
finished trainings, which are not run again, so the work can be divided among several calls.

--peer-python: JoeyNMT trains transformer-tiny on 10,000 pairs of Multi30k for --peer-updates, and
attn for half of them; the target is the best dev BLEU of JoeyNMT (greedy search in both).
joeynmt_peer.py says how its Python is made.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import os
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from processor_time import measure
from time_to_quality_table import PEER, Point, Store, table

from attncli.jobs.train import train
from attncli.training.interfaces import Evaluated, Started, Stepped
from attncli.training.run.command_line import settings
from attncli.training.settings.config import RunConfig

HERE = Path(__file__).resolve().parent
DEV_LINES = 500
PAIRS = {"multi30k": 29_000, "tatoeba": 50_000, "part": 10_000}
CAPTIONS = 10_000  # of 2,000 images
EVALUATIONS = 10
EACH = (
    *("train.precision=fp32", "train.epochs=0", "train.patience=0"),
    *("train.average=0", "train.samples=0", "train.metric=loss", "tokenizer.size=8000"),
)
ROOT = ("train.schedule=inverse_sqrt", "train.optimiser=adam")
PLATEAU = ("train.schedule=plateau", "train.optimiser=adam", "train.warmup=200")
TINY = (*ROOT, "train.lr=0.005", "train.warmup=2000")
SMALL = (*ROOT, "train.lr=0.002", "train.warmup=4000")
RNN = (*PLATEAU, "train.lr=0.002")
CAPTIONER = (*ROOT, "train.lr=0.002", "train.warmup=1000")


class Task(NamedTuple):
    """Data, a preset, and the recipe of the preset in version 0.1.0."""

    data: str
    preset: str
    updates: int  # of that recipe
    before: tuple[str, ...]


TASKS = {
    f"{task.data} {task.preset}": task
    for task in (
        Task("multi30k", "transformer-tiny", 600, TINY),
        Task("multi30k", "transformer-small", 200, SMALL),
        Task("multi30k", "rnnsearch-small", 300, RNN),
        Task("tatoeba", "transformer-tiny", 600, TINY),
        Task("tatoeba", "rnnsearch-small", 300, RNN),
        Task("flickr8k", "show-attend-tell-soft-small", 200, (*PLATEAU, "train.lr=0.001")),
        Task("flickr8k", "captioner-transformer-small", 200, CAPTIONER),
    )
}


class Recipe(NamedTuple):
    """Settings beside those of the preset."""

    name: str
    settings: tuple[str, ...]
    share: float  # of the updates of the task


def main() -> None:
    """Run the trainings that are not stored, print the table."""
    options = parsed()
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    store = Store(options.work / "runs.jsonl")
    for name, seed in itertools.product(options.only, options.seeds):
        for recipe in recipes(TASKS[name], options):
            config = configured(TASKS[name], recipe, seed, options)
            store.fill(name, recipe.name, seed, config, partial(curve, config, options.work))
    if options.peer_python:
        compare_with_peer(options, store)
    print("\n".join(table(store.records)))


def parsed() -> argparse.Namespace:
    """Return the options."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--only", nargs="*", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--recipes", nargs="*", default=["before", "adam", "now"])
    parser.add_argument("--try", dest="trials", nargs="+", action="append", default=[])
    parser.add_argument("--set", dest="common", nargs="+", default=[], metavar="SETTING")
    parser.add_argument("--updates", type=int, default=0)
    parser.add_argument("--seeds", nargs="*", type=int, default=[1, 2])
    parser.add_argument("--peer-python", default="")
    parser.add_argument("--peer-updates", type=int, default=1000)
    return parser.parse_args()


def recipes(task: Task, options: argparse.Namespace) -> Iterator[Recipe]:
    """Yield the chosen recipes of a task."""
    known = {
        "before": (task.before, 1.0),
        "adam": (("train.optimiser=adam",), 0.5),
        "now": ((), 0.5),
    }
    for name in options.recipes:
        yield Recipe(name, *known[name])
    for name, *changes in options.trials:
        yield Recipe(name, tuple(changes), 0.5)


def configured(task: Task, recipe: Recipe, seed: int, options: argparse.Namespace) -> RunConfig:
    """Return the settings of a training."""
    updates = round((options.updates or task.updates) * recipe.share)
    assignments = [
        *(*EACH, f"train.seed={seed}", f"train.steps={updates}"),
        *(
            f"train.evaluate_every={max(1, updates // EVALUATIONS)}",
            *options.common,
            *recipe.settings,
        ),
    ]
    if task.data != "flickr8k":
        files = [text(task.data, part, options) for part in ("train", "dev")]
        return settings(files[:1], files[1:], task.preset, assignments)
    data = options.data / "flickr8k"
    train = head(data / "train.tsv", CAPTIONS, options.work / "flickr8k.train.tsv")
    dev = head(data / "dev.tsv", 5 * DEV_LINES, options.work / "flickr8k.dev.tsv")
    where = f"data.features={options.work / 'features'}"
    images = {"images": data / "images.tar", "captions": train, "dev_captions": dev}
    return settings([], [], task.preset, [*assignments, where], inputs=images)


def text(data: str, part: str, options: argparse.Namespace) -> Path:
    """Return a table of English and German pairs, written once."""
    path: Path = options.work / f"{data}.{part}.tsv"
    most = PAIRS[data] if part == "train" else DEV_LINES
    if data == "tatoeba":
        source = options.data / "tatoeba" / f"eng-deu.{part}.tsv"
        return head(source if source.exists() else source.with_suffix(".tsv.xz"), most, path)
    stem = options.data / "multi30k" / ("train" if part == "train" else "val")
    sides = (stem.with_suffix(f".{code}").read_text("utf-8").split("\n") for code in ("en", "de"))
    rows = ("\t".join(row) + "\n" for row in itertools.islice(zip(*sides, strict=True), most))
    path.write_text("".join(rows), "utf-8")
    return path


def head(source: Path, most: int, path: Path) -> Path:
    """Write the first lines of a file to a path."""
    with (lzma.open if source.suffix == ".xz" else open)(source, "rt", encoding="utf-8") as lines:
        path.write_text("".join(itertools.islice(lines, most)), "utf-8")
    return path


def curve(config: RunConfig, work: Path) -> list[Point]:
    """Train, and return the evaluations."""
    folder, points, seconds = work / "run", [], 0.0
    started = time.process_time()
    shutil.rmtree(folder, ignore_errors=True)
    for event in train(config, folder, device="cpu", progress=lambda *progress: None):
        match event:
            case Stepped():
                seconds += time.process_time() - started
            case Evaluated():
                points.append(Point(event.step, seconds, event.scores.loss, event.scores.bleu))
        if isinstance(event, Started | Stepped | Evaluated):
            started = time.process_time()
    shutil.rmtree(folder)
    return points


def compare_with_peer(options: argparse.Namespace, store: Store) -> None:
    """Train JoeyNMT and attn on a part of Multi30k, with dev BLEU by greedy search."""
    task = Task("part", "transformer-tiny", options.peer_updates, ())
    bleu = ("train.metric=bleu", "search.method=greedy")
    for seed in options.seeds:
        config = configured(task, Recipe("now", bleu, 0.5), seed, options)
        store.fill(
            "part transformer-tiny", "now", seed, config, partial(curve, config, options.work)
        )
        points = partial(peer_curve, seed, options)
        store.fill("part transformer-tiny", PEER, seed, (PEER, task.updates, seed), points)


def peer_curve(seed: int, options: argparse.Namespace) -> list[Point]:
    """Train JoeyNMT on the same pairs; return its evaluations."""
    data, work = options.work / "peer-data", options.work / "peer"
    data.mkdir(exist_ok=True)
    for part, name in (("train", "train"), ("dev", "val")):
        rows = text("part", part, options).read_text("utf-8").splitlines()
        for column, code in enumerate(("en", "de")):
            side = "".join(row.split("\t")[column] + "\n" for row in rows)
            (data / f"{name}.{code}").write_text(side, "utf-8")
    ours = [sys.executable, HERE / "attn_worker.py", "prepare", "--pieces", 8000]
    pieces = answer(*ours, "--work", options.work / "pieces", "--data", data)
    peer = [options.peer_python, HERE / "joeynmt_peer.py"]
    answer(*peer, "prepare", "--work", work, "--data", data, "--spm", pieces["spm"])
    every = max(1, options.peer_updates // EVALUATIONS)
    limits = ["--updates", options.peer_updates, "--every", every, "--seed", seed]
    found = answer(*peer, "curve", "--work", work, *limits)
    return [Point(update, seconds, None, bleu) for update, seconds, bleu in found["points"]]


def answer(*command: object) -> dict[str, Any]:
    """Return the JSON object that a command prints last."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = measure(list(map(str, command)), {**os.environ, **threads})
    found: dict[str, Any] = json.loads(done.output.splitlines()[-1])
    return found


if __name__ == "__main__":
    main()
