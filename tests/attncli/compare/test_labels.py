"""`attn models compare` over poolings: one dev set for all seeds, accuracy ranks."""

from __future__ import annotations

import json
from pathlib import Path

from tests.attncli.command_line import Attn, flags
from tests.attncli.labels import write_toy
from tests.attncli.training.small import TINY

SETTINGS = flags(TINY)


def test_poolings_are_compared_by_accuracy(tmp_path: Path, attn: Attn) -> None:
    table, test = write_toy(tmp_path / "a.tsv", 90), write_toy(tmp_path / "b.tsv", 20, seed=3)
    out, chosen = tmp_path / "out", ["mean", "final+general", "--seeds", "2"]
    command = ["models", "compare", *chosen, "-o", str(out), "--threads", "1", *SETTINGS]
    command += ["--labels", str(table), "--test", str(test)]
    shown = attn(*command).out
    assert "dev accuracy" in shown and "test accuracy" in shown and "BLEU" not in shown
    assert "standard deviation of test accuracy" in shown
    record = json.loads((out / "comparison.json").read_text())
    assert {run["variant"] for run in record["runs"]} == {"mean", "final+general"}
    assert all(0 <= run["dev_accuracy"] <= 100 for run in record["runs"])
    starts = [json.loads(path.open().readline()) for path in out.rglob("log.jsonl")]
    assert len(starts) == 4 and len({(one["pairs"], one["dev"]) for one in starts}) == 1
