"""Samples at evaluations: the page grows, stays small, continues, and changes no weight."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from attncli.task.panels import SampledEvaluation, ShownExample
from attncli.training.saving import (
    add_evaluation,
    read_evaluations,
)
from attncli.translate.dev import DevTexts
from models.networks.bundle import Bundle
from tests.attncli.training.small import (
    Texts,
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


def test_texts_are_escaped_and_the_newest_evaluation_is_first(tmp_path: Path) -> None:
    add_evaluation(tmp_path, "<run>", evaluation(5, "<script>\u2028</script>"))
    add_evaluation(tmp_path, "<run>", evaluation(6))
    page = (tmp_path / "index.html").read_text("utf-8")
    assert "<script" not in page and "&lt;script&gt;" in page and "&lt;run&gt;" in page
    assert page.index("update 6") < page.index("update 5")
