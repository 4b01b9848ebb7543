"""What a comparison calls noise."""

from __future__ import annotations

import pytest

from attncli.scoring.comparison import (
    Noise,
    RunScores,
    from_record,
    noise,
    ranked,
    spread,
    verdict,
)
from attncli.scoring.score import MetricScore


def row(variant: str, seed: int, bleu: float) -> RunScores:
    dev = (MetricScore("bleu", bleu),)
    return RunScores(variant, seed, dev, (), 5.0, None, 100, 10, 50.0, 2.0)


def test_the_pooled_spread_by_hand() -> None:
    found = noise([[1.0, 3.0], [10.0, 10.0], [4.0]])
    assert found is not None and found.freedom == 2
    assert found.deviation == pytest.approx(1.0)  # ((1 + 1) + 0) / 2, the root
    assert found.margin(2, 2) == pytest.approx(4.30)
    assert Noise(1.0, 20).margin(2, 2) == pytest.approx(2.086, rel=0.01)
    assert noise([[1.0], [2.0]]) is None
    assert spread([1.0, 3.0]).deviation == pytest.approx(2**0.5)


def test_the_best_is_first_and_what_is_near_is_not_told_apart() -> None:
    rows = [row(name, seed, base + seed / 10) for name, base in ROWS for seed in (1, 2)]
    assert list(ranked(rows)) == ["dot", "general", "none"]
    said = verdict(rows)
    assert "Best: dot. Not significantly worse: general." in said and "3 degrees" in said
    assert "the standard deviation of dev BLEU between seeds" in said
    alone = [one for one in rows if one.variant != "general"]
    assert verdict(alone).endswith("Best: dot. Significantly worse: all others.")


def test_the_best_is_chosen_on_dev_and_low_scores_are_called_low() -> None:
    """The variant of the better test score is second, because its dev score is lower."""
    rows = [
        row(name, seed, dev + seed / 10)._replace(test=(MetricScore("bleu", test + seed / 10),))
        for name, dev, test in (("dot", 20.0, 15.0), ("general", 15.0, 20.0))
        for seed in (1, 2)
    ]
    assert list(ranked(rows)) == ["dot", "general"]
    said = verdict(rows)
    assert "the standard deviation of test BLEU between seeds" in said
    assert "Best on the dev set: dot. Not significantly worse on the test set: general." in said
    assert "do not tell variants apart" not in verdict(rows)
    low = verdict([row("dot", 1, 9.9), row("none", 1, 3.0)])
    assert "The best dev BLEU is 9.90, below 10" in low


def test_equal_scores_of_all_seeds_measure_no_noise() -> None:
    rows = [row(name, seed, base) for name, base in ROWS for seed in (1, 2, 3)]
    said = verdict([*rows, *(row("also dot", seed, 30.1) for seed in (1, 2, 3))])
    assert "Noise: unknown, because dev BLEU is the same for all seeds of each variant" in said
    assert said.endswith("Best: dot. Equal: also dot.") and "0.00" not in said


def test_a_row_is_read_as_it_was_stored() -> None:
    scores = (MetricScore("cider", 0.5), MetricScore("bleu4", 20.0))
    own = RunScores("hard", 2, scores, scores, 5.0, 8.5, 100, 10, 50.0, 2.0, "hard")
    record = own.as_record()
    assert record["dev_cider"] == 0.5 and record["test_bleu4"] == 20.0 and "dev" not in record
    assert from_record(record) == own
    empty = {**row("dot", 1, 30.0).as_record(), "test_bleu": None, "dev_accuracy": None}
    assert from_record(empty) == row("dot", 1, 30.0)
    with pytest.raises(ValueError, match="dev set"):
        from_record({**empty, "dev_bleu": None})


ROWS = (("none", 20.0), ("general", 30.0), ("dot", 30.1))
