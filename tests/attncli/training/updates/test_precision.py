"""train.precision=auto: chosen by hardware and size, stored, and kept by a resumed run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from attncli.training import precision
from attncli.training.configuration import run_config
from attncli.training.folder import RunFolder, read_config
from attncli.training.interfaces import Interrupted, Started
from attncli.training.precision import chosen_precision
from attncli.training.settings.config import RunConfig, TrainConfig
from models.core.config import ModelConfig
from tests.attncli.training.small import after, outcome, run, small_config, write_texts

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def hardware(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every device compute bf16."""
    monkeypatch.setattr(precision, "computes_bf16", lambda device: True)


def tables(preset: str, *changes: str) -> tuple[ModelConfig, TrainConfig]:
    """Return the settings of a preset's model and training."""
    config = run_config(preset, assignments=changes)
    return config.model, config.train


@pytest.mark.parametrize(
    ("preset", "changes", "expected"),
    [
        ("transformer-nano", [], "bf16"),
        ("transformer-nano", ["train.batch_tokens=512"], "fp32"),
        ("transformer-nano", ["train.shards=4"], "fp32"),
        ("rnnsearch-nano", [], "fp32"),
        ("rnnsearch-nano", ["train.precision=bf16"], "bf16"),
        ("rnnsearch-small", [], "bf16"),
        ("transformer-base", ["train.precision=fp32"], "fp32"),
    ],
)
def test_a_processor_computes_large_products_in_bf16(
    preset: str, changes: list[str], expected: str
) -> None:
    assert chosen_precision(*tables(preset, *changes), CPU) == expected


def test_the_capability_of_a_gpu_says_what_it_computes_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.undo()
    for major, expected in {6: "fp32", 7: "fp16", 8: "bf16", 9: "bf16", 12: "bf16"}.items():
        found = SimpleNamespace(major=major, minor=5)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device, found=found: found)
        for preset in ("rnnsearch-nano", "transformer-base"):
            assert chosen_precision(*tables(preset), GPU) == expected
            assert chosen_precision(*tables(preset, "train.precision=fp32"), GPU) == "fp32"
    assert chosen_precision(*tables("transformer-base"), torch.device("mps")) == "fp32"
    monkeypatch.setattr(precision, "computes_bf16", lambda device: False)
    assert chosen_precision(*tables("transformer-base"), CPU) == "fp32"


def few(config: RunConfig) -> RunConfig:
    return replace(config, train=replace(config.train, steps=4, evaluate_every=4))


def test_automatic_precision_is_chosen_once_and_kept_by_a_resumed_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = write_texts(tmp_path)
    run(few(small_config(texts, "train.precision=bf16")), tmp_path / "fixed")
    monkeypatch.setattr(precision, "LARGE", 0)
    config = few(small_config(texts))
    with pytest.raises(Interrupted):
        run(config, tmp_path / "auto", after(2))
    assert read_config(RunFolder(tmp_path / "auto")).train.precision == "bf16"
    monkeypatch.setattr(precision, "computes_bf16", lambda device: False)  # another machine
    events = run(config, tmp_path / "auto")
    assert isinstance(events[0], Started) and events[0].precision == "bf16"
    found, expected = outcome(tmp_path / "auto"), outcome(tmp_path / "fixed")
    for part in ("counters", "bundle", "checkpoint"):
        assert found[part] == expected[part]
