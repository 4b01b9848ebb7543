"""Minute runs: their data, their settings, and what must be equal between two of them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from safetensors.torch import load_file

from attncli.data.embedded import generate
from attncli.train._checkpoint import read_metadata
from attncli.train.command_line import settings
from attncli.train.events import Interrupted, RunEvent, read_log
from attncli.train.folder import RunFolder
from attncli.train.job import train
from attncli.training.config import RunConfig
from attncli.training.dev import Data
from attncli.training.sources import source_of_run

TIMES = {"seconds", "tokens_per_second", "elapsed"}
SMALL = (
    *("model.embedding=16", "model.hidden=16", "model.encoder_layers=1"),
    *("model.decoder_layers=1", "train.batch_tokens=200", "train.warmup=4", "train.log_every=1"),
    *("train.steps=14", "train.evaluate_every=5", "search.method=greedy", "search.max_extra=3"),
    *("search.max_ratio=0.5", "tokenizer.size=330", "train.bleu_tokenizer=char"),
    *("train.samples=0", "train.metric=loss"),
)
TINY = tuple(s for s in SMALL if not s.startswith(("model.decoder", "search")))  # of classifiers


class Texts(NamedTuple):
    """Files of sentence pairs."""

    train: Path
    dev: Path


def write_texts(folder: Path, *, train: int = 60, dev: int = 12) -> Texts:
    """Two TSV files of the grammar's sentences."""
    lines = [f"{pair.source}\t{pair.target}\n" for pair in generate(train + dev)]
    found = Texts(folder / "train.tsv", folder / "dev.tsv")
    found.train.write_text("".join(lines[:train]), "utf-8")
    found.dev.write_text("".join(lines[train:]), "utf-8")
    return found


def small_config(texts: Texts, *changes: str, preset: str = "transformer-nano") -> RunConfig:
    """Return the settings of a minute run."""
    return settings([texts.train], [texts.dev], preset, [*SMALL, *changes])


def run(
    config: RunConfig, folder: Path, stop: Callable[[], bool] = lambda: False
) -> list[RunEvent]:
    """Train, and give what happened."""
    return list(
        train(config, folder, device="cpu", progress=lambda *progress: None, stop_requested=stop)
    )


def load(config: RunConfig, folder: Path) -> Data:
    """Return the data of a run, prepared in its folder."""
    return source_of_run(config).loaded(folder, lambda *progress: None)


def finished_and_stopped(folder: Path) -> tuple[Path, Path]:
    """Return the folders of a finished run on train.tsv, and of one stopped after an evaluation."""
    config = small_config(write_texts(folder), "train.average=2")
    runs = folder / "finished", folder / "stopped"
    run(config, runs[0])
    with suppress(Interrupted):
        run(config, runs[1], RunFolder(runs[1]).snapshot(10).exists)
    return runs


def outcome(path: Path) -> dict[str, Any]:
    """All that a run leaves but for times: what resumed and unbroken runs must agree on."""
    folder = RunFolder(path)
    counters = json.loads(read_metadata(folder.checkpoint)["counters"])
    return {
        "files": sorted(str(file.relative_to(path)) for file in path.rglob("*")),
        "counters": {
            name: without_times(value) if isinstance(value, dict) else value
            for name, value in counters.items()
            if name not in (*TIMES, "log_bytes")
        },
        "log": [without_times(record) for record in read_log(folder.log)],
        "bundle": (path / "model.safetensors").read_bytes(),
        "card": (path / "card.md").read_text("utf-8"),
        "checkpoint": {k: v.numpy().tobytes() for k, v in load_file(folder.checkpoint).items()},
        "snapshots": {f.name: f.read_bytes() for f in folder.snapshots.glob("*")},
    }


def without_times(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record of the log without what differs between two equal runs."""
    return {key: value for key, value in record.items() if key not in TIMES}


def assert_same(one: Path, other: Path) -> None:
    """Two runs agree bit for bit; named part by part, for the message."""
    left, right = outcome(one), outcome(other)
    for part in left:
        if isinstance(left[part], dict):
            assert left[part].keys() == right[part].keys(), part
            for name in left[part]:
                assert left[part][name] == right[part][name], f"{part}: {name}"
        else:
            assert left[part] == right[part], part


def after(polls: int) -> Callable[[], bool]:
    """Return a `stop_requested` that is true from some call on."""
    calls = itertools.count(1)
    return lambda: next(calls) >= polls


def run_with_stops(config: RunConfig, folder: Path) -> None:
    """Train to the end, stopped and continued again and again, at least three times."""
    stops = 0
    for polls in itertools.cycle([4, 2, 3, 8]):  # evaluations ask twice: some stop there, too
        try:
            run(config, folder, after(polls))
            break
        except Interrupted:
            stops += 1
            assert stops < 100
    assert stops > 2


def assert_stops_change_nothing(config: RunConfig, folder: Path) -> None:
    """Check that a run that is stopped anywhere ends as an unbroken one."""
    run(config, folder / "unbroken")
    run_with_stops(config, folder / "broken")
    assert_same(folder / "broken", folder / "unbroken")
