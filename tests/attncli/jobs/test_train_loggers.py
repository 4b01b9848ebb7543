"""Experiment trackers: missing ones are refused before any work; each receives the log."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest

from attncli.training.interfaces import Interrupted
from attncli.training.log import read_log
from attncli.training.settings import loggers
from attncli.training.settings.loggers import LOGGERS, LoggedRun
from models.core.errors import ModelError
from tests.attncli.training.small import Texts, after, assert_same, run, small_config

RECEIVED: list[tuple[str, Any]] = []  # by Recorder


class Recorder:
    """A tracker that keeps what it receives."""

    def __init__(self, run: LoggedRun) -> None:
        RECEIVED.append(("open", run))

    def write(self, event: str, record: dict[str, Any]) -> None:
        RECEIVED.append((event, record))

    def close(self) -> None:
        RECEIVED.append(("close", None))


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Register Recorder in the place of TensorBoard."""
    RECEIVED.clear()
    monkeypatch.setattr(loggers, "find_spec", lambda package: package)
    monkeypatch.setitem(LOGGERS, "tensorboard", f"{__name__}:Recorder")


@pytest.mark.usefixtures("recorder")
def test_a_tracker_receives_the_log_of_a_run_and_changes_nothing(
    texts: Texts, tmp_path: Path
) -> None:
    config = small_config(texts, "train.loggers=tensorboard", "train.samples=0")
    with pytest.raises(Interrupted):
        run(config, tmp_path / "run", after(7))
    assert RECEIVED[-1] == ("close", None)
    steps = [event for event, _ in RECEIVED].count("train")
    run(config, tmp_path / "run")
    opened = [run for event, run in RECEIVED if event == "open"]
    assert [run.step for run in opened] == [0, steps]
    assert opened[0].settings["train"]["loggers"] == ("tensorboard",)
    records = [(event, record) for event, record in RECEIVED if record and event != "open"]
    written = [(r.pop("event"), r) for r in read_log(tmp_path / "run" / "log.jsonl")]
    assert json.loads(json.dumps(records)) == json.loads(json.dumps(written))
    run(small_config(texts, "train.samples=0"), tmp_path / "without")
    assert_same(tmp_path / "run", tmp_path / "without")


@pytest.mark.parametrize("name", LOGGERS)
def test_a_missing_package_is_refused_before_any_work(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(loggers, "find_spec", lambda package: None)
    with pytest.raises(ModelError, match="pip install .*" + name):
        run(small_config(texts, f"train.loggers={name}"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_every_tracker_has_a_class_and_an_extra() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    for name, place in LOGGERS.items():
        module, _, class_name = place.partition(":")
        assert hasattr(importlib.import_module(module), class_name)
        assert f"\n{name} = [" in project
