"""Runs limited by time, and finished runs that continue."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from attncli.training import stepper
from attncli.training.folder import RunFolder, read_config
from attncli.training.interfaces import AlreadyFinished, Ended, Interrupted, Stepped
from attncli.training.settings.config import RunConfig
from attncli.training.state import read_counters
from attncli.training.stepper import Stepper
from models.core.errors import ModelError
from tests.attncli.command_line import Attn
from tests.attncli.training.small import SMALL, Texts, assert_same, run, small_config


@pytest.fixture
def ticking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every update take exactly 6 seconds, and everything else no time."""
    now, train_on = [0.0], Stepper.train_on

    def step(*arguments: object, **options: object) -> Stepped:
        now[0] += 6
        return train_on(*arguments, **options)  # type: ignore[arg-type]

    clocks = SimpleNamespace(monotonic=lambda: now[0], perf_counter=time.perf_counter)
    monkeypatch.setattr(stepper, "time", clocks)
    monkeypatch.setattr(Stepper, "train_on", step)


def timed(texts: Texts, *changes: str) -> RunConfig:
    return small_config(texts, "train.steps=0", "train.minutes=1.2", *changes)


def test_the_time_ends_a_run_whose_rate_falls_to_zero(
    texts: Texts, tmp_path: Path, ticking: None
) -> None:
    events = run(timed(texts, "train.warmup=0"), tmp_path / "run")
    rates = [event.lr for event in events if isinstance(event, Stepped)]
    ends = [event for event in events if isinstance(event, Ended)]
    assert ends == [Ended(12, "1.2 minutes of training done")]
    assert rates == pytest.approx([0.005 * (1 - step / 12) for step in range(12)])


def test_an_interrupted_run_uses_the_time_that_is_left(
    texts: Texts, tmp_path: Path, ticking: None
) -> None:
    config = timed(texts, "train.average=0")
    run(config, tmp_path / "whole")
    for polls in (3, 9):
        calls = itertools.count(1)
        with pytest.raises(Interrupted):
            run(config, tmp_path / "parts", lambda calls=calls, n=polls: next(calls) >= n)  # type: ignore[misc]
    run(config, tmp_path / "parts")
    assert_same(tmp_path / "whole", tmp_path / "parts")
    counters = read_counters(RunFolder(tmp_path / "parts"))
    assert counters and (counters.step, counters.elapsed) == (12, 72)


def test_a_raised_limit_continues_as_a_run_with_that_limit(texts: Texts, tmp_path: Path) -> None:
    changes = ("train.average=0", "train.epochs=0", "train.patience=0")
    short, long = (small_config(texts, *changes, f"train.steps={n}") for n in (10, 15))
    run(long, tmp_path / "whole")
    run(short, tmp_path / "parts")
    assert isinstance(run(short, tmp_path / "parts")[-1], AlreadyFinished)
    run(long, tmp_path / "parts")
    assert_same(tmp_path / "whole", tmp_path / "parts")
    assert read_config(RunFolder(tmp_path / "parts")).train.steps == 15
    other = replace(long, train=replace(long.train, log_every=7, checkpoint_minutes=1))
    assert isinstance(run(other, tmp_path / "parts")[-1], AlreadyFinished)
    assert read_config(RunFolder(tmp_path / "parts")).train.log_every == 7
    with pytest.raises(ModelError, match="train.steps was 15, now 10"):
        run(short, tmp_path / "parts")


def test_another_rate_without_a_raised_limit_is_refused(texts: Texts, tmp_path: Path) -> None:
    folder, changes = tmp_path / "run", ("train.lr=0.5", "train.schedule=constant")
    run(small_config(texts, "train.steps=3"), folder)
    before = (folder / "config.toml").read_bytes()
    found = r"finished run: train\.lr was 0\.005, now 0\.5, train\.schedule was .*, now constant;"
    with pytest.raises(ModelError, match=f"{found} .* raised limit .* another -o"):
        run(small_config(texts, "train.steps=3", *changes), folder)
    assert (folder / "config.toml").read_bytes() == before
    run(small_config(texts, "train.steps=4", *changes), folder)
    assert read_config(RunFolder(folder)).train.lr == 0.5


def test_a_run_continues_by_its_folder(texts: Texts, tmp_path: Path, attn: Attn) -> None:
    folder = str(tmp_path / "run")
    chosen = [part for setting in SMALL for part in ("-s", setting)]
    attn("train", texts.train, "-o", folder, *chosen, "-s", "train.steps=3")
    assert "finished before, after 3 updates" in attn("train", folder).err
    said = attn("train", folder, "-s", "train.steps=5").err
    counters = read_counters(RunFolder(tmp_path / "run"))
    assert counters and counters.step == 5
    assert "no dev set" not in said  # a part of the pairs was held out
    assert "without config.toml" in attn("train", tmp_path, status=1).err
