"""A new kind of input is one file and one registry row each: a family, a source, its training."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from attncli.training import sources
from attncli.training.events import FinalModel, Started
from attncli.training.settings import settings
from models import bundle
from models.registry import TABLES
from tests.attncli.training.small import run

TOY = "tests.attncli.training.toy_source"


def write_rows(path: Path, count: int, seed: int) -> Path:
    """Write rows of three numbers, and the name of the place of the largest."""
    rng = random.Random(seed)
    rows = [[rng.choice((-1, 0, 1)) + rng.random() / 2 for _ in range(3)] for _ in range(count)]
    names = ("left", "middle", "right")
    texts = [names[row.index(max(row))] for row in rows]
    numbers = [" ".join(f"{number:.2f}" for number in row) for row in rows]
    lines = [f"{row}\t{text}\n" for row, text in zip(numbers, texts, strict=True)]
    path.write_text("".join(lines))
    return path


def test_a_third_kind_of_input_is_trained_and_decoded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TABLES["family"], "numbers", f"{TOY}:NumberModel")
    monkeypatch.setitem(TABLES["source"], "numbers", f"{TOY}:NumberSource")
    monkeypatch.setitem(sources.SOURCES, "numbers", f"{TOY}:NumberTraining")
    train = write_rows(tmp_path / "train.tsv", 300, 1)
    dev = write_rows(tmp_path / "dev.tsv", 40, 2)
    config = settings(
        [train], [dev], "rnnsearch-nano",
        ["model.family=numbers", "train.epochs=30", "train.batch_tokens=300", "train.warmup=10",
         "train.lr=0.02", "model.dropout=0"],
    )  # fmt: skip
    events = run(config, tmp_path / "run")
    started, final = events[0], events[-1]
    assert isinstance(started, Started) and (started.pairs, started.unit) == (300, "rows")
    assert isinstance(final, FinalModel) and final.score is not None and final.score >= 80
    assert bundle.read(tmp_path / "run").model.source == "numbers"
    assert bundle.task_of(tmp_path / "run") == "describe"
