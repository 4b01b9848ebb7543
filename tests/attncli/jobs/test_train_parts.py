"""Parts of a training job: a full disk, the dry run, embedded data, leftovers."""

from __future__ import annotations

import itertools
import math
import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from attncli.data.grammar import generate
from attncli.jobs.train import dry_run
from attncli.training.command_line import settings
from attncli.training.estimate import Estimate
from attncli.training.interfaces import (
    AlreadyFinished,
    Interrupted,
)
from attncli.training.settings.config import TrainConfig
from models import load_translator
from models.alignment import AlignConfig, choose_head
from models.core.errors import ModelError
from models.networks.bundle import read
from tests.attncli.training.small import (
    SMALL,
    Texts,
    after,
    assert_same,
    run,
    small_config,
)


def test_a_full_disk_leaves_the_last_checkpoint_whole(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fail at every sixteenth write, of a file or a folder; the same command continues the run."""
    steps = ("train.steps=2", "train.evaluate_every=1", "train.average=2")
    config = small_config(texts, *steps, "train.precision=fp32", "train.metric=loss")
    run(config, tmp_path / "unbroken")
    real = os.fsync
    for number in itertools.count(1, 16):
        calls, folder = itertools.count(1), tmp_path / f"full-{number}"

        def full(descriptor: int, calls: Iterator[int] = calls, number: int = number) -> None:
            if next(calls) == number:
                raise OSError(28, "No space left on device")
            real(descriptor)

        monkeypatch.setattr(os, "fsync", full)
        try:
            run(config, folder)
            break
        except ModelError as error:
            assert "No space left on device" in str(error) and "\n" not in str(error)
        monkeypatch.setattr(os, "fsync", real)
        run(config, folder)
        assert_same(folder, tmp_path / "unbroken")
    assert number > 3 * 16


def test_a_log_that_cannot_be_written_is_one_line(texts: Texts, tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full here")
    config = small_config(texts)
    with pytest.raises(Interrupted):
        run(config, tmp_path / "run", after(3))
    (tmp_path / "run" / "log.jsonl").unlink()
    (tmp_path / "run" / "log.jsonl").symlink_to("/dev/full")
    with pytest.raises(ModelError, match="log.jsonl"):
        run(config, tmp_path / "run")


@pytest.mark.parametrize(
    ("limits", "seconds", "expected"),
    [
        # 2 seconds an update, 24 an evaluation, 10 for the data; 5 batches an epoch
        ({"steps": 400, "epochs": 0}, 10 + 800 + 81 * 24, "about 46 minutes .* 400 updates, 81 ev"),
        ({"steps": 400, "epochs": 0, "evaluate_every": 300}, 10 + 800 + 3 * 24, "3 evaluations"),
        ({"steps": 10**8, "epochs": 3}, 10 + 30 + 4 * 24, "15 updates .train.epochs = 3., 4 ev"),
        ({"steps": 5, "epochs": 0}, 10 + 10 + 24, "about 44 seconds .* 5 updates, 1 evaluation$"),
        ({"steps": 400, "epochs": 0, "average": 0}, 10 + 800 + 80 * 24, "80 evaluations"),
        ({"steps": 400, "epochs": 0, "minutes": 5.0}, 10 + 300 + 2 * 24, "train.minutes = 5"),
        ({"steps": 5, "epochs": 0, "minutes": 5.0}, 44, "5 updates"),
        ({"steps": 400, "epochs": 0, "patience": 3}, 2754, "up to about 46 minutes"),
        ({"steps": 0, "epochs": 0}, math.inf, "2 seconds for each update, without a limit"),
    ],
)
def test_the_time_of_a_run_includes_data_updates_and_evaluations(
    limits: dict[str, float], seconds: float, expected: str
) -> None:
    train = replace(TrainConfig(minutes=0.0, patience=0), **limits)  # type: ignore[arg-type]
    sizes = (1, "", 60, "pairs", 0, 12, (), 5, 600)
    found = Estimate(*sizes, seconds=(1.5, 2.5), scoring=2.0, preparation=10.0)
    needed = found.time_needed(train)
    assert needed.seconds == seconds
    assert re.search(expected, str(needed))


def test_without_data_the_grammar_is_learned(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    changes = ["data.demo_size=40", "train.steps=1", "train.metric=loss"]
    config = settings([], [], "transformer-nano", [*SMALL, *changes])
    assert dry_run(config, device="cpu", progress=lambda *progress: None).pairs == 40
    run(config, folder)
    assert len((folder / "train.tsv").read_text("utf-8").splitlines()) == 40
    [first] = generate(1)
    held_out = (folder / "dev.tsv").read_text("utf-8").splitlines()[0]
    assert held_out == f"{first.source}\t{first.target}"
    links = (folder / "dev.links").read_text("utf-8").splitlines()[0]
    assert {tuple(map(int, link.split("-"))) for link in links.split()} == set(first.links)
    assert isinstance(run(config, folder)[0], AlreadyFinished)


def test_the_bundle_says_which_of_several_heads_aligns(texts: Texts, tmp_path: Path) -> None:
    run(small_config(texts, "train.steps=3"), tmp_path / "heads")
    found = read(tmp_path / "heads").alignment
    assert found.layer == 1 and found.extract == "transport"
    pairs = [line.split("\t") for line in texts.dev.read_text("utf-8").splitlines()]
    translator = load_translator(tmp_path / "heads")
    assert choose_head(translator, [(source, target) for source, target in pairs]) == found
    run(small_config(texts, "train.steps=3", preset="rnnsearch-nano"), tmp_path / "one")
    assert read(tmp_path / "one").alignment == AlignConfig()
