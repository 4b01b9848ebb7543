"""Training of a model that is divided among processes: near weights, continued either way, faults.

The gradients of key biases are 0 but for rounding, and Adam enlarges it: they are not compared.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attncli.training.storage.log import read_log
from tests.attncli.training import small_captions
from tests.attncli.training.process_runs import FEW, at, errors, said, signal_self, train_in
from tests.attncli.training.small import SMALL, Texts, small_config, without_times, write_texts

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="fork"),
    pytest.mark.usefixtures("undrawn"),
]
DIVIDED = "train.shard_model=true"
EXACT = "train.precision=fp32"
NUMBERS = ("loss", "nll", "norm", "reward", "bleu")  # in records of the log


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    return write_texts(tmp_path, train=40, dev=6)


def assert_near(one: Path, other: Path, *, tolerance: float = 1e-4) -> None:
    """Two runs have nearly the same weights, losses and scores, and the same tensors stored."""
    for name in ("model.safetensors", "checkpoint.safetensors"):
        found, expected = load_file(other / name), load_file(one / name)
        assert found.keys() == expected.keys()
        for key, tensor in expected.items():
            assert found[key].shape == tensor.shape and found[key].dtype == tensor.dtype
            if not key.startswith("random") and not key.endswith("input.bias"):
                assert torch.allclose(found[key], tensor, atol=tolerance), f"{name}: {key}"
    records = [read_log(path / "log.jsonl") for path in (one, other)]
    assert len(records[0]) == len(records[1])
    for expected_record, record in zip(*records, strict=True):
        for name in NUMBERS:
            value = expected_record.get(name)
            assert record.get(name) == (value and pytest.approx(value, abs=tolerance)), name


def assert_equal(one: Path, other: Path) -> None:
    """Two runs have the same weights, losses and scores, bit for bit."""
    for name in ("model.safetensors", "checkpoint.safetensors"):
        found, expected = load_file(other / name), load_file(one / name)
        assert all(torch.equal(found[key], expected[key]) for key in expected)
    records = [[without_times(r) for r in read_log(path / "log.jsonl")] for path in (one, other)]
    assert records[0] == records[1]


VARIANTS = {  # 3 shards of 2 processes: one computes passes without examples
    "transformer": (
        "transformer-nano",
        ["train.ema=0.9", "train.accumulate=2", "train.metric=bleu", "train.shards=3"],
    ),
    "hard": ("rnnsearch-nano", ["model.attention.read=hard", "train.attention.reinforce=0.1"]),
}


@pytest.mark.parametrize("variant", ["transformer", pytest.param("hard", marks=pytest.mark.slow)])
def test_a_divided_model_learns_what_an_undivided_one_does(
    variant: str, texts: Texts, tmp_path: Path
) -> None:
    preset, changes = VARIANTS[variant]
    settings = (*FEW, EXACT, *changes)
    assert train_in(1, small_config(texts, *settings, preset=preset), tmp_path / "one") == [0]
    config = small_config(texts, *settings, DIVIDED, preset=preset)
    assert train_in(2, config, tmp_path / "two") == [0, 0], errors(tmp_path / "two").read_text()
    assert_near(tmp_path / "one", tmp_path / "two")


def test_a_run_continues_with_a_divided_model_and_without(texts: Texts, tmp_path: Path) -> None:
    plain, divided = (small_config(texts, *FEW, EXACT, *more) for more in ([], [DIVIDED]))
    assert train_in(1, plain, tmp_path / "unbroken") == [0]
    folder = tmp_path / "broken"
    assert train_in(2, divided, folder, stop_at=2) == [3, 0], errors(folder).read_text()
    assert train_in(1, plain, folder, stop_at=3) == [3], errors(folder).read_text()
    killed = at(1, 5, signal_self(signal.SIGKILL))
    assert train_in(2, divided, folder, before=killed) == [1, -signal.SIGKILL]
    assert said(folder) == (
        "0: a process of this run was killed, or its connection was lost; expected all processes "
        "until the run ends; the same command continues the run from its last checkpoint"
    )
    assert train_in(2, divided, folder) == [0, 0], errors(folder).read_text()
    assert_near(tmp_path / "unbroken", folder)
    steps = [r["step"] for r in read_log(folder / "log.jsonl") if r["event"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(("lost", "sign"), [(1, signal.SIGSTOP), (0, signal.SIGKILL)])
def test_a_lost_process_is_told_in_one_line(
    lost: int, sign: signal.Signals, texts: Texts, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    config = small_config(texts, *FEW, EXACT, DIVIDED, "train.wait_minutes=0.05")
    before = at(lost, 4, signal_self(sign))
    codes = train_in(2, config, folder, before=before)
    assert codes == ([1, -signal.SIGKILL] if lost else [-signal.SIGKILL, 1])
    assert len(said(folder).splitlines()) == 1
    found = "did not answer within 3 s" if lost else "was killed, or its connection was lost"
    assert said(folder).startswith(f"{1 - lost}: a process of this run {found}")
    checkpoint = load_file(folder / "checkpoint.safetensors")  # of the evaluation after update 3
    assert checkpoint["optimiser/step/output.bias"] == 3


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano"])
def test_any_number_of_processes_trains_nearly_the_same_model(
    preset: str, texts: Texts, tmp_path: Path
) -> None:
    settings = ("train.steps=30", "train.evaluate_every=15", *FEW[2:], EXACT)
    assert train_in(1, small_config(texts, *settings, preset=preset), tmp_path / "1") == [0]
    config = small_config(texts, *settings, DIVIDED, preset=preset)
    for size in (2, 3, 4):
        for folder in (tmp_path / f"{size}", tmp_path / f"{size}-again"):
            assert train_in(size, config, folder) == [0] * size, errors(folder).read_text()
        assert_equal(tmp_path / f"{size}", tmp_path / f"{size}-again")
        assert_near(tmp_path / "1", tmp_path / f"{size}", tolerance=1e-2)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("preset", ["show-attend-tell-soft-nano", "captioner-transformer-nano"])
def test_a_divided_captioner_learns_what_an_undivided_one_does(preset: str, tmp_path: Path) -> None:
    files = small_captions.write_images(tmp_path)
    settings = (*FEW, EXACT)
    config = small_captions.small_config(files, *settings, preset=preset)
    assert train_in(1, config, tmp_path / "one") == [0]
    config = small_captions.small_config(files, *settings, DIVIDED, preset=preset)
    assert train_in(2, config, tmp_path / "two") == [0, 0], errors(tmp_path / "two").read_text()
    assert_near(tmp_path / "one", tmp_path / "two", tolerance=1e-3)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_command_divides_the_model_as_under_torchrun(texts: Texts, tmp_path: Path) -> None:
    python, torchrun = [sys.executable, "-m"], ["torch.distributed.run", "--nproc-per-node=2"]
    programs = {
        "two": [*python, "attncli", "train", "--processes", "2"],
        "torchrun": [*python, *torchrun, "--standalone", "-m", "attncli", "train"],
    }
    settings = [word for value in (*SMALL, *FEW, EXACT) for word in ("-s", value)]
    files = [str(texts.train), "--dev", str(texts.dev), "--threads", "1", "--device", "cpu"]
    for name, program in programs.items():
        command = [*program, *files, "-o", str(tmp_path / name), "--shard-model", *settings]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
    assert_equal(tmp_path / "two", tmp_path / "torchrun")
