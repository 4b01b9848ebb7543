"""train.products: a run with oneDNN resumes as itself, and its loss is that of torch."""

from __future__ import annotations

from pathlib import Path

import pytest

from attncli.training.storage.folder import RunFolder
from attncli.training.storage.log import read_log
from models.numerics import products
from tests.attncli.training.small import (
    assert_same,
    outcome,
    run,
    run_with_stops,
    small_config,
    write_texts,
)


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano"])
def test_a_run_with_onednn_resumes_as_itself_and_learns_as_one_with_torch(
    preset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not products.has_onednn():
        pytest.skip("torch without oneDNN")
    monkeypatch.setattr(products, "FEWEST", 1)
    texts, fp32 = write_texts(tmp_path), "train.precision=fp32"
    config = small_config(texts, fp32, "train.products=onednn", preset=preset)
    run(config, tmp_path / "unbroken")
    run_with_stops(config, tmp_path / "broken")
    assert_same(tmp_path / "broken", tmp_path / "unbroken")
    run(small_config(texts, fp32, preset=preset), tmp_path / "torch")
    assert outcome(tmp_path / "torch")["bundle"] != outcome(tmp_path / "unbroken")["bundle"]
    logs = [read_log(RunFolder(tmp_path / name).log) for name in ("torch", "unbroken")]
    losses = [[record["loss"] for record in log if "loss" in record] for log in logs]
    assert losses[0] and losses[1] == pytest.approx(losses[0], rel=1e-3)
