"""What is shown of one run after another."""

from __future__ import annotations

import pytest

from attncli.commands.train_run import Display
from attncli.training.interfaces import Evaluated, Scores, Started, Stepped
from attncli.training.settings.config import TrainConfig


def test_a_run_begins_without_the_score_of_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    display, notes = Display(TrainConfig(steps=9)), []
    monkeypatch.setattr(Display, "begin", lambda self, label, total: None)
    display.advance = lambda done, note="": notes.append(note)
    begun = Started(
        "x", 1, "1 token", 1, "pairs", "", 0, 0, (), 1, 0, "cpu", "fp32", "bleu", False, 0
    )
    step = Stepped(1, 0, 0.1, 2.0, 2.0, 0.1, 1.0, None, 10, 1.0)
    for event in (begun, Evaluated(1, 0, Scores(1.0, 33.0, None), True), step, begun, step):
        display.take(event)
    first, second = notes[:2]
    assert "BLEU 33.00" in first and "BLEU" not in second
