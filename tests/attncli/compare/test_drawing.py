"""Pictures of a comparison."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.compare._drawing import draw_comparison
from attncli.compare._scores import RunScores
from attncli.scoring.score import MetricScore


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
