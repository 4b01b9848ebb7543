"""Training in several processes: equal weights, resumed with other numbers, faults in one line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from attncli.shell import app
from attncli.tasks.translate.training.dev import DevTexts
from attncli.training.distributed import evaluation
from attncli.training.run import saving
from attncli.training.settings.config import RunConfig
from attncli.training.storage.log import read_log
from models.base.errors import ModelError, ResourceError
from tests.attncli.training import processes, small_captions
from tests.attncli.training.process_runs import FEW, at, errors, said, signal_self, train_in
from tests.attncli.training.small import SMALL, Texts, small_config, without_times, write_texts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
CAPTIONS = (*FEW[1:3], "train.shards=4")
SCORED = ("dev", "average")  # events that have scores


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    return write_texts(tmp_path, train=40, dev=6)


def assert_equal_weights(one: Path, other: Path) -> None:
    """Two runs have the same final weights, gradients of every update, and all scores."""
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    losses = [
        [(r["step"], r["loss"], r["norm"]) for r in read_log(path / "log.jsonl") if "norm" in r]
        for path in (one, other)
    ]
    assert losses[0] == losses[1] and losses[0]
    dev = [
        [without_times(r) for r in read_log(path / "log.jsonl") if r["event"] in SCORED]
        for path in (one, other)
    ]
    assert dev[0] == dev[1] and dev[0]


def assert_independent_of_processes(config: RunConfig, place: Path, sizes: tuple[int, ...]) -> None:
    """Check that runs in these numbers of processes end with the same weights."""
    for size in sizes:
        folder = place / str(size)
        assert train_in(size, config, folder) == [0] * size, errors(folder).read_text()
        assert_equal_weights(folder, place / str(sizes[0]))


VARIANTS = {
    "transformer": ("transformer-nano", ["train.ema=0.9", "train.metric=bleu"]),
    "hard": ("rnnsearch-nano", ["model.attention.read=hard", "train.attention.reinforce=0.1"]),
    "muon": ("transformer-nano", ["train.optimiser=muon"]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_processes_end_with_the_weights_of_one(
    variant: str, texts: Texts, tmp_path: Path
) -> None:
    preset, changes = VARIANTS[variant]
    config = small_config(texts, *FEW, *changes, preset=preset)
    assert_independent_of_processes(config, tmp_path, (1, 2))


@pytest.mark.parametrize(
    ("kind", "changes", "sizes"),
    [
        ("soft", ("train.steps=3", "train.self_critical_from=1", "train.metric=cider"), (1, 2)),
        pytest.param(
            *("hard", ("train.steps=100", "train.self_critical_from=5"), (1, 2, 4)),
            marks=[pytest.mark.slow, pytest.mark.timeout(1800)],
        ),
    ],
)
def test_several_processes_reward_captions_as_one_does(
    kind: str, changes: tuple[str, ...], sizes: tuple[int, ...], tmp_path: Path
) -> None:
    files, preset = small_captions.write_images(tmp_path), f"show-attend-tell-{kind}-nano"
    config = small_captions.small_config(files, *CAPTIONS, *changes, preset=preset)
    assert_independent_of_processes(config, tmp_path, sizes)
    assert any("reward" in record for record in read_log(tmp_path / "2" / "log.jsonl"))


def test_every_process_decodes_a_part_of_the_dev_set(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "UNIT", 2)  # two rounds of 2 sources each for 6 sources
    outputs, place = DevTexts.outputs, tmp_path / "decoded"
    place.mkdir()

    def noted(self: DevTexts, *others: Any) -> list[str]:
        with (place / str(os.getpid())).open("a") as file:
            file.writelines(source + "\n" for source in self.sources)
        return outputs(self, *others)

    monkeypatch.setattr(DevTexts, "outputs", noted)
    config = small_config(texts, *FEW, "train.metric=bleu")
    assert train_in(2, config, tmp_path / "run") == [0, 0], errors(tmp_path / "run").read_text()
    sources = [line.split("\t")[0] for line in texts.dev.read_text().splitlines()]
    decoded = [file.read_text().splitlines() for file in place.iterdir()]
    assert sorted(map(len, decoded)) == [6, 12]  # 3 each in 2 evaluations; process 0 the average
    assert sorted(decoded[0] + decoded[1]) == sorted(3 * sources)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("preset", ["transformer-nano", "rnnsearch-nano"])
def test_any_number_of_processes_ends_with_the_same_weights(
    preset: str, texts: Texts, tmp_path: Path
) -> None:
    changes = ("train.steps=100", "train.evaluate_every=50", *FEW[2:])
    config = small_config(texts, *changes, preset=preset)
    assert_independent_of_processes(config, tmp_path, (1, 2, 4))
    folder = tmp_path / "broken"
    killed = at(3, 30, signal_self(signal.SIGKILL))
    assert train_in(4, config, folder, before=killed)[3] == -signal.SIGKILL
    killed = at(0, 60, signal_self(signal.SIGKILL))
    assert train_in(2, config, folder, before=killed) == [-signal.SIGKILL, 1]
    assert train_in(4, config, folder) == [0] * 4, errors(folder).read_text()
    assert_equal_weights(folder, tmp_path / "1")


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_command_starts_processes_as_torchrun_does(texts: Texts, tmp_path: Path) -> None:
    python, torchrun = [sys.executable, "-m"], ["torch.distributed.run", "--nproc-per-node=2"]
    programs = {
        "one": [*python, "attncli", "train"],
        "two": [*python, "attncli", "train", "--processes", "2"],
        "torchrun": [*python, *torchrun, "--standalone", "-m", "attncli", "train"],
    }
    settings = [word for value in (*SMALL, *FEW) for word in ("-s", value)]
    files = [str(texts.train), "--dev", str(texts.dev), "--threads", "1", "--device", "cpu"]
    for name, program in programs.items():
        command = [*program, *files, "-o", str(tmp_path / name), *settings]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert_equal_weights(tmp_path / name, tmp_path / "one")


def dry_run(texts: Texts, *changes: str) -> list[str]:
    """Return the arguments of attn for a dry run of a minute model."""
    settings = [word for value in (*SMALL, *FEW, *changes) for word in ("-s", value)]
    return ["train", str(texts.train), "--dry-run", "--threads", "1", "--device", "cpu", *settings]


def test_a_dry_run_is_computed_and_printed_by_process_0(texts: Texts, tmp_path: Path) -> None:
    found = tmp_path / "printed"
    assert processes.run(2, lambda number: app.run(dry_run(texts)), found) == [0, 0]
    for line in ("parameters", "per process"):
        assert found.read_text("utf-8").count(line) == 1
    wrong = dry_run(texts, "model.heads=3")
    assert processes.run(2, lambda number: app.run(wrong), tmp_path / "said") == [1, 0]
    assert (tmp_path / "said").read_text("utf-8").count("attn: ") == 1


def test_a_run_continues_with_another_number_of_processes(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, *FEW)
    assert train_in(1, config, tmp_path / "unbroken") == [0]
    folder = tmp_path / "broken"
    assert train_in(2, config, folder, stop_at=2) == [3, 0], errors(folder).read_text()
    config = small_config(texts, *FEW[:-1])  # the run knows its shards
    killed = at(1, 4, signal_self(signal.SIGKILL))
    assert train_in(3, config, folder, before=killed) == [1, -signal.SIGKILL, 1]
    assert said(folder).startswith("0: a process of this run was lost")
    assert len(said(folder).splitlines()) == 1
    assert train_in(1, config, folder) == [0]
    assert_equal_weights(folder, tmp_path / "unbroken")
    steps = [r["step"] for r in read_log(folder / "log.jsonl") if r["event"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]  # nothing was computed twice, and nothing left out


def fail() -> None:
    """Raise a mistake of a user."""
    raise ModelError("the memory is exhausted")


KILLED = -signal.SIGKILL
FAULTS = {  # process, update and fault; statuses; what is told
    "killed": ((0, 5, signal_self(signal.SIGKILL)), [KILLED, 1], "1: a process of this run was l"),
    "failed": ((1, 2, fail), [1, 1], "0: process 1 of the run ended: the memory is exhausted"),
    "silent": ((1, 4, signal_self(signal.SIGSTOP)), [1, KILLED], "0: a process of this run was l"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_loss_of_a_process_is_told_in_one_line(
    name: str, texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.training.distributed.meeting.WAIT_SECONDS", 3.0)
    fault, statuses, message = FAULTS[name]
    folder, config = tmp_path / "run", small_config(texts, *FEW)
    assert train_in(2, config, folder, before=at(*fault)) == statuses
    assert said(folder).startswith(message) and len(said(folder).splitlines()) == 1


def test_a_full_disk_ends_all_processes(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ResourceError("the disk is full")

    monkeypatch.setattr(saving, "save_checkpoint", fail)
    folder, config = tmp_path / "run", small_config(texts, *FEW)
    assert train_in(2, config, folder) == [1, 0]
    assert said(folder) == "0: the disk is full"
