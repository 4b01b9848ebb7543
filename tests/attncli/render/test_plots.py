"""Pictures: drawn from what a log has, written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from attncli.render.comparison import draw_comparison
from attncli.render.plots import curves
from attncli.scoring.comparison import RunScores
from attncli.scoring.score import MetricScore

HISTORY: list[dict[str, Any]] = [
    {"event": "start", "parameters": 10},
    {"event": "train", "step": 50, "loss": 7.9, "nll": 7.5},
    {"event": "train", "step": 100, "nll": float("nan")},
    {"event": "dev", "step": 100, "bleu": 3.25, "loss": 6.0},
    {"event": "train", "step": 100, "loss": 5.9, "nll": 5.5},
    {"event": "dev", "step": 200, "bleu": 12.5, "loss": 5.0},
]


def test_curves_show_loss_score_and_the_best(tmp_path: Path) -> None:
    curves(tmp_path / "x.svg", HISTORY)
    drawn = (tmp_path / "x.svg").read_text("utf-8")
    axis = "negative log-likelihood (nats per token)"
    texts = (axis, "training", "dev BLEU", "12.50")
    assert all(f">{text}</text>" in drawn for text in texts)


@pytest.mark.parametrize("kinds", [(), ("train",), ("dev",)])
def test_curves_of_a_run_that_has_only_some_records(kinds: tuple[str, ...], tmp_path: Path) -> None:
    curves(tmp_path / "x.png", [record for record in HISTORY if record["event"] in kinds])
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("metric", "score", "direction"), [("bleu", 3.0, "higher"), ("wer", 40.0, "lower")]
)
def test_a_comparison_states_its_data_its_marks_and_what_is_better(
    metric: str, score: float, direction: str, tmp_path: Path
) -> None:
    dev = (MetricScore(metric, score),)
    rows = [RunScores("dot", seed, dev, (), 5.0, 9.5, 100, 10, 50.0, 2.0) for seed in (1, 2)]
    draw_comparison(tmp_path / "dev.svg", rows)
    drawn = (tmp_path / "dev.svg").read_text("utf-8")
    assert "Scores of the dev set. A dot is a seed, a bar the mean" in drawn
    assert drawn.count(f">({direction} is better)<") == 2  # AER is lower, speed higher
    assert ("The best dev BLEU is 3.00, below 10" in drawn) == (metric == "bleu")
    draw_comparison(tmp_path / "test.svg", [row._replace(test=dev) for row in rows])
    assert "Scores of the test set." in (tmp_path / "test.svg").read_text("utf-8")
