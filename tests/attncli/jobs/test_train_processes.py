"""Training by several processes: equal weights, resumed with other numbers, faults in one line."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from attncli.jobs.train import train
from attncli.training.config import RunConfig
from attncli.training.distributed.follower import follow
from attncli.training.distributed.rank import Rank
from attncli.training.distributed.stepper import ShardedStepper
from attncli.training.events import Interrupted
from attncli.training.log import read_log
from models.errors import ModelError
from tests.attncli.training import processes
from tests.attncli.training.small import Texts, small_config, write_texts

pytestmark = pytest.mark.skipif(os.name != "posix", reason="fork")
FEW = ("train.steps=6", "train.evaluate_every=3", "train.metric=loss", "train.shards=4")
Before = Callable[[int, int], None]  # is called with process and update before each update


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    return write_texts(tmp_path, train=40, dev=6)


def train_in(
    size: int,
    config: RunConfig,
    folder: Path,
    *,
    stop_at: int = 0,
    before: Before = lambda number, update: None,
) -> list[int]:
    """Train in several processes; return their exit codes.

    stop_at: update after which process 0 is asked to stop; 0: never. before: is called in each
    process before each update.
    """
    execute, updates = ShardedStepper.execute, [0]

    def work(number: int) -> int:
        def watched(self: ShardedStepper, order, *others):  # type: ignore[no-untyped-def]
            updates.append(order.step)
            before(number, order.step)
            return execute(self, order, *others)

        ShardedStepper.execute = watched  # type: ignore[method-assign, assignment]
        try:
            if number:
                follow(Rank(number, size), lambda: "cpu")
                return 0
            for _ in train(
                config,
                folder,
                device="cpu",
                progress=lambda *progress: None,
                stop_requested=lambda: 0 < stop_at <= updates[-1],
                rank=Rank(0, size),
            ):
                pass
        except Interrupted:
            return 3
        except ModelError as error:
            sys.stderr.write(f"{number}: {error}\n")
            return 1
        return 0

    return processes.run(size, work, folder.with_suffix(".errors"))


def said(folder: Path) -> str:
    """Return what the processes of a run wrote."""
    return folder.with_suffix(".errors").read_text("utf-8")


def assert_equal_weights(one: Path, other: Path) -> None:
    """Two runs have the same final weights, and the same losses in every update."""
    assert (one / "model.safetensors").read_bytes() == (other / "model.safetensors").read_bytes()
    losses = [
        [(r["step"], r["loss"], r["norm"]) for r in read_log(path / "log.jsonl") if "norm" in r]
        for path in (one, other)
    ]
    assert losses[0] == losses[1] and losses[0]


VARIANTS = {
    "transformer": ("transformer-nano", ["train.ema=0.9", "train.accumulate=2"]),
    "rnnsearch": ("rnnsearch-nano", ["train.average=2", "train.precision=fp32"]),
    "hard": ("rnnsearch-nano", ["model.attention.read=hard", "train.attention.reinforce=0.1"]),
}


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("variant", VARIANTS)
def test_two_processes_end_with_the_weights_of_one(
    variant: str, texts: Texts, tmp_path: Path
) -> None:
    preset, changes = VARIANTS[variant]
    config = small_config(texts, *FEW, *changes, preset=preset)
    for size in (1, 2):
        folder = tmp_path / str(size)
        assert train_in(size, config, folder) == [0] * size, said(folder)
    assert_equal_weights(tmp_path / "1", tmp_path / "2")


@pytest.mark.usefixtures("undrawn")
def test_a_run_continues_with_another_number_of_processes(texts: Texts, tmp_path: Path) -> None:
    config = small_config(texts, *FEW)
    assert train_in(1, config, tmp_path / "unbroken") == [0]
    folder = tmp_path / "broken"
    assert train_in(2, config, folder, stop_at=2) == [3, 0], said(folder)
    config = small_config(texts, *FEW[:-1])  # the run knows its shards

    def kill_the_second(number: int, update: int) -> None:
        if (number, update) == (1, 4):
            os.kill(os.getpid(), signal.SIGKILL)

    assert train_in(3, config, folder, before=kill_the_second)[:2] == [1, -9], said(folder)
    assert "0: a process of this run was killed" in said(folder)
    assert train_in(1, config, folder) == [0], said(folder)
    assert_equal_weights(folder, tmp_path / "unbroken")
