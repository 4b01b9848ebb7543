"""What a run writes for others: samples at evaluations, and the log for experiment trackers."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import torch

from attncli.loggers import trackers
from attncli.loggers.trackers import numbers
from attncli.task.panels import SampledEvaluation, ShownExample
from attncli.train.events import Interrupted, LoggedRun, read_log
from attncli.train.saving import (
    KEPT,
    add_evaluation,
    read_evaluations,
)
from attncli.translate.dev import DevTexts
from models.core.annexes import ANNEXES, entries
from models.core.errors import ModelError
from models.networks.bundle import Bundle
from tests.attncli.training.small import (
    Texts,
    after,
    assert_same,
    outcome,
    run,
    run_with_stops,
    small_config,
)

SAMPLES = ("train.samples=3", "train.steps=9", "train.evaluate_every=4")


def evaluation(step: int, output: str = "Ein Hund.") -> SampledEvaluation:
    return SampledEvaluation(
        step, f"BLEU {step}.00", (ShownExample("A dog.", "Der Hund.", output),)
    )


@pytest.mark.parametrize("change", ["train.ema=0.9", "search.method=sample"])
def test_samples_do_not_change_the_training(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    """Dropout needs the same random numbers, also if the samples use some."""
    real = DevTexts.samples

    def random(self: DevTexts, bundle: Bundle, device: str, count: int) -> list[ShownExample]:
        torch.rand(7)
        return real(self, bundle, device, count)

    monkeypatch.setattr(DevTexts, "samples", random)
    found = []
    for count in (0, 3):
        config = small_config(texts, f"train.samples={count}", change)
        run(config, tmp_path / str(count))
        found.append(outcome(tmp_path / str(count)))
    without, with_samples = found
    for part in ("bundle", "checkpoint", "log"):
        assert without[part] == with_samples[part], part
    assert not (tmp_path / "0" / "samples").exists()
    assert "<svg" in (tmp_path / "3" / "samples" / "index.html").read_text("utf-8")


def test_the_page_of_an_interrupted_run_is_that_of_an_unbroken_one(
    texts: Texts, tmp_path: Path
) -> None:
    config = small_config(texts, *SAMPLES)
    run(config, tmp_path / "a" / "dot" / "seed-3")
    run_with_stops(config, tmp_path / "b" / "dot" / "seed-3")
    for name in ("samples.jsonl", "index.html"):
        one, other = (tmp_path / side / "dot" / "seed-3" / "samples" / name for side in "ab")
        assert one.read_bytes() == other.read_bytes(), name
    page = one.read_text("utf-8")
    assert "<h1>Samples of dot, seed 3</h1>" in page and "attention" in page and "25 %" in page
    assert [each.step for each in read_evaluations(one.parent)] == [4, 8, 9]


def test_records_after_a_repeated_evaluation_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "samples.jsonl").write_text('{"step": 1}\n')  # damaged: a new page begins
    for step in (5, 10, 15):
        add_evaluation(tmp_path, "run", evaluation(step))
    add_evaluation(tmp_path, "run", evaluation(10, "again"))
    assert read_evaluations(tmp_path) == [evaluation(5), evaluation(10, "again")]
    for step in range(11, 200):  # thinned; the newest and some early ones stay
        add_evaluation(tmp_path, "run", evaluation(step))
        steps = [each.step for each in read_evaluations(tmp_path)]
        assert len(steps) <= KEPT and steps == sorted(steps) and steps[-1] == step
    assert steps[0] < 20


def test_texts_are_escaped_and_the_newest_evaluation_is_first(tmp_path: Path) -> None:
    add_evaluation(tmp_path, "<run>", evaluation(5, "<script>\u2028</script>"))
    add_evaluation(tmp_path, "<run>", evaluation(6))
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page and "&lt;run&gt;" in page
    assert page.index("update 6") < page.index("update 5")


LOGGERS = entries("logger")
RECEIVED: list[tuple[str, Any]] = []  # by Recorder


class Recorder:
    """A tracker that keeps what it receives."""

    @classmethod
    def check(cls, package: str) -> None:
        pass

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
    row = ANNEXES["loggers"]["logger"]
    monkeypatch.setitem(row, "tensorboard", f"{__name__}:Recorder")


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
    monkeypatch.setattr(trackers, "find_spec", lambda package: None)
    with pytest.raises(ModelError, match="pip install .*" + name):
        run(small_config(texts, f"train.loggers={name}"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", LOGGERS)
def test_each_tracker_writes_into_the_run_folder_and_continues(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pytest.importorskip(name)
    for variable in ("WANDB_MODE", "MLFLOW_TRACKING_URI"):
        monkeypatch.delenv(variable, raising=False)
    config = small_config(texts, f"train.loggers={name}")
    folder = tmp_path / "run"
    with pytest.raises(Interrupted):
        run(config, folder, after(7))
    run(config, folder)
    assert (folder / {"mlflow": "mlflow.db"}.get(name, name)).exists()


def test_every_tracker_has_a_class_and_an_extra() -> None:
    project = (Path(__file__).parents[3] / "pyproject.toml").read_text("utf-8")
    for name, place in LOGGERS.items():
        module, _, class_name = place.partition(":")
        assert hasattr(importlib.import_module(module), class_name)
        assert f"\n{name} = [" in project
    record = {"step": 5, "epoch": 1, "bleu": 3.5, "gained": True, "exact": None, "of": [1]}
    assert numbers("dev", record) == {"dev/bleu": 3.5} and numbers("start", {"pairs": 60}) == {}
