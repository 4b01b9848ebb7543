"""Pictures of runs and scores."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from attncli.render.plots import Bar, Curve, bleu_by_length, curves

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


def test_dev_scores_without_a_loss_or_without_bleu(tmp_path: Path) -> None:
    pictures = []
    for missing in ("", "bleu", "loss"):
        curves(tmp_path / "x.png", [{**record, missing: None} for record in HISTORY])
        pictures.append((tmp_path / "x.png").read_bytes())
    assert len(set(pictures)) == 3  # a curve is missing in the second and in the third


def test_no_window_is_opened_and_pyplot_stays_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "matplotlib.pyplot", raising=False)
    bleu_by_length(tmp_path / "x.png", [Curve("a", [3, 8], [40, 30])], [Bar(0.5, 5.5, 7)])
    assert "matplotlib.pyplot" not in sys.modules
