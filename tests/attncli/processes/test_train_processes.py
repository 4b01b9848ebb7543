"""Training in several processes: equal gradients, other numbers of them, faults in one line."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file
from torch import Tensor

from attncli.processes._group import Rank, own_rank
from attncli.shell import app
from attncli.train import saving
from attncli.train._stepper import Stepper, seed_of, split
from attncli.train.events import read_log
from attncli.translate.dev import DevTexts
from models.core.errors import ModelError, ResourceError
from tests.attncli.command_line import flags
from tests.attncli.processes import small as processes
from tests.attncli.processes.small import SIX_STEPS, at, errors, said, signal_self, train_in
from tests.attncli.training import small_captions
from tests.attncli.training.small import SMALL, Texts, small_config, without_times, write_texts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
SCORED = ("dev", "average")  # events that have scores
SLOWLY = (
    "model.dropout=0",
    "train.warmup=400",
    "train.schedule=inverse_sqrt",
)  # Adam divides gradients that are noise by noise


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    return write_texts(tmp_path, train=40, dev=6)


def weights(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def assert_close(one: dict[str, Tensor], other: dict[str, Tensor], most: float) -> None:
    assert one.keys() == other.keys()
    assert max(float((one[name] - other[name]).abs().max()) for name in one) < most


def scores(folder: Path) -> list[dict[str, Any]]:
    """Return the scores of a run's evaluations."""
    records = read_log(folder / "log.jsonl")
    return [without_times(record) for record in records if record["event"] in SCORED]


VARIANTS = {
    "in parts": ("transformer-nano", ["train.shards=2", "train.attention.coverage=see"]),
    "recurrent": ("rnnsearch-nano", ["train.optimiser=muon", "train.ema=0.9"]),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_two_processes_compute_the_gradient_of_one(
    variant: str, texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    apply = Stepper.apply

    def noted(self: Stepper, rate: float) -> float:
        path = tmp_path / f"gradient {self.world.size} {self.world.number}"
        names = self.state.learned.items()
        if not path.exists():
            save_file({name: p.grad for name, p in names if p.grad is not None}, path)
        return apply(self, rate)

    monkeypatch.setattr(Stepper, "apply", noted)
    preset, changes = VARIANTS[variant]
    few = ("train.steps=2", "train.evaluate_every=2", "train.metric=bleu", *SLOWLY)
    config = small_config(texts, *few, *changes, preset=preset)
    for size in (1, 2):
        folder = tmp_path / str(size)
        assert train_in(size, config, folder) == [0] * size, errors(folder).read_text()
    one, first, second = (
        load_file(tmp_path / f"gradient {name}") for name in ("1 0", "2 0", "2 1")
    )
    assert_close(one, first, 1e-5)
    assert_close(first, second, 1e-9)
    assert_close(weights(tmp_path / "1"), weights(tmp_path / "2"), 1e-4)
    for alone, both in zip(scores(tmp_path / "1"), scores(tmp_path / "2"), strict=True):
        assert alone["loss"] == pytest.approx(both["loss"], abs=1e-4)


@pytest.mark.parametrize("kind", ["soft", "hard"])
def test_two_processes_sample_captions(kind: str, tmp_path: Path) -> None:
    files, preset = small_captions.write_images(tmp_path), f"show-attend-tell-{kind}-nano"
    changes = (
        "train.steps=3",
        f"train.self_critical_lr={0.00005 * (kind == 'soft')}",
        *SIX_STEPS[1:3],
    )
    config = small_captions.small_config(files, *changes, preset=preset)
    assert train_in(2, config, tmp_path / "run") == [0, 0], errors(tmp_path / "run").read_text()
    records = read_log(tmp_path / "run" / "log.jsonl")
    assert any("reward" in record for record in records) == (kind == "soft")


def test_every_process_decodes_a_part_of_the_dev_set(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs, place = DevTexts.outputs, tmp_path / "decoded"
    place.mkdir()

    def noted(self: DevTexts, *others: Any) -> list[str]:
        with (place / str(os.getpid())).open("a") as file:
            file.writelines(source + "\n" for source in self.sources)
        return outputs(self, *others)

    monkeypatch.setattr(DevTexts, "outputs", noted)
    config = small_config(texts, *SIX_STEPS, "train.metric=bleu")
    assert train_in(2, config, tmp_path / "run") == [0, 0], errors(tmp_path / "run").read_text()
    sources = [line.split("\t")[0] for line in texts.dev.read_text().splitlines()]
    decoded = [file.read_text().splitlines() for file in place.iterdir()]
    assert sorted(map(len, decoded)) == [6, 12]  # 3 each in 2 evaluations; process 0 the average
    assert sorted(decoded[0] + decoded[1]) == sorted(3 * sources)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_command_starts_processes_as_torchrun_does(texts: Texts, tmp_path: Path) -> None:
    python, torchrun = [sys.executable, "-m"], ["torch.distributed.run", "--nproc-per-node=2"]
    programs = {
        "one": [*python, "attncli", "train"],
        "two": [*python, "attncli", "train", "--processes", "2"],
        "torchrun": [*python, *torchrun, "--standalone", "-m", "attncli", "train"],
    }
    settings = flags((*SMALL, *SIX_STEPS, *SLOWLY))
    files = [str(texts.train), "--dev", str(texts.dev), "--threads", "1", "--device", "cpu"]
    for name, program in programs.items():
        command = [*program, *files, "-o", str(tmp_path / name), *settings]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert_close(weights(tmp_path / name), weights(tmp_path / "one"), 1e-3)


def dry_run(texts: Texts, *changes: str) -> list[str]:
    """Return the arguments of attn for a dry run of a minute model."""
    settings = flags((*SMALL, *SIX_STEPS, *changes))
    return ["train", str(texts.train), "--dry-run", "--threads", "1", "--device", "cpu", *settings]


def test_a_dry_run_is_computed_and_printed_by_process_0(texts: Texts, tmp_path: Path) -> None:
    found = tmp_path / "printed"
    assert processes.run(2, lambda number: app.run(dry_run(texts)), found) == [0, 0]
    for line in ("parameters", "an epoch"):
        assert found.read_text("utf-8").count(line) == 1
    wrong = dry_run(texts, "model.heads=3")
    assert processes.run(2, lambda number: app.run(wrong), tmp_path / "said") == [1, 0]
    assert (tmp_path / "said").read_text("utf-8").count("attn: ") == 1


def test_a_run_continues_with_another_number_of_processes(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, *SIX_STEPS, *SLOWLY)
    assert train_in(1, config, tmp_path / "unbroken") == [0]
    folder = tmp_path / "broken"
    assert train_in(2, config, folder, stop_at=2) == [3, 0], errors(folder).read_text()
    killed = at(1, 4, signal_self(signal.SIGKILL))
    assert sorted(train_in(3, config, folder, before=killed)) == [KILLED, 1, 1]
    assert "a process of this run was lost" in said(folder)
    assert len(said(folder).splitlines()) == 1
    assert train_in(1, config, folder) == [0]
    assert_close(weights(folder), weights(tmp_path / "unbroken"), 1e-3)
    steps = [r["step"] for r in read_log(folder / "log.jsonl") if r["event"] == "train"]
    assert steps == [1, 2, 3, 4, 5, 6]  # nothing was computed twice, and nothing left out


def test_two_processes_continue_to_the_bit(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, *SIX_STEPS)
    assert train_in(2, config, tmp_path / "unbroken") == [0, 0]
    assert train_in(2, config, tmp_path / "run", stop_at=4) == [3, 0]
    assert train_in(2, config, tmp_path / "run") == [0, 0]
    assert_close(weights(tmp_path / "run"), weights(tmp_path / "unbroken"), 1e-12)


def fail() -> None:
    """Raise a mistake of a user."""
    raise ModelError("the memory is exhausted")


KILLED = -signal.SIGKILL
FAULTS = {  # process, update and fault; statuses; what is told
    "killed": ((0, 5, signal_self(signal.SIGKILL)), [KILLED, 1], "1: a process of this run was l"),
    "failed": ((1, 2, fail), [1, 1], "1: the memory is exhausted"),
    "silent": ((1, 4, signal_self(signal.SIGSTOP)), [1, KILLED], "0: a process of this run was l"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_loss_of_a_process_is_told_in_one_line(
    name: str, texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("attncli.processes._group.WAIT_SECONDS", 4.0)
    fault, statuses, message = FAULTS[name]
    folder, config = tmp_path / "run", small_config(texts, *SIX_STEPS)
    assert train_in(2, config, folder, before=at(*fault)) == statuses
    assert said(folder).startswith(message) and len(said(folder).splitlines()) == 1


def test_a_full_disk_ends_all_processes(
    texts: Texts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise ResourceError("the disk is full")

    monkeypatch.setattr(saving, "save_checkpoint", fail)
    folder, config = tmp_path / "run", small_config(texts, *SIX_STEPS)
    assert train_in(2, config, folder) == [1, 1]
    assert said(folder) == "0: the disk is full"


def test_a_batch_is_divided_without_separating_groups() -> None:
    numbers = np.array([7, 0, 3, 5, 4, 9, 8])
    shared = np.array([1, 0, 0, 2, 2, 2, 0, 1, 5, 5])  # group of each example of the data
    for count in (1, 2, 3, 9):
        for groups in (None, shared):
            parts = split(numbers, count, groups)
            assert len(parts) == count
            assert np.concatenate(parts).tolist() == numbers.tolist()
    parts = split(numbers, 3, shared)
    assert [set(shared[part]) for part in parts] == [{1}, {2}, {5}]


def test_random_numbers_depend_on_seed_update_and_process() -> None:
    seeds = {seed_of(*key) for key in itertools.product((1, 2), (1, 2), (0, 1))}
    assert len(seeds) == 8 and all(0 <= seed < 2**63 for seed in seeds)


def test_the_environment_tells_the_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    assert own_rank() == own_rank(2) == Rank()
    for name, value in (("RANK", "1"), ("WORLD_SIZE", "2"), ("MASTER_ADDR", "localhost")):
        monkeypatch.setenv(name, value)
    assert own_rank() == own_rank(2) == Rank(1, 2, 0)
    with pytest.raises(ModelError, match="--processes 3 in one of 2 processes"):
        own_rank(3)
    for wrong in ("2", "-1", "one"):
        monkeypatch.setenv("RANK", wrong)
        with pytest.raises(ModelError, match=f"RANK={wrong}"):
            own_rank()
