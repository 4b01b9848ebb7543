"""The short form of the torture campaign; ``make torture`` chooses a new seed each time."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from random import Random

import pytest

from tests.torture import campaign
from tests.torture.__main__ import table
from tests.torture.campaign import Campaign
from tests.torture.power import power_failures
from tests.torture.training import Training
from tests.torture.worker import Workers
from tests.torture.writes import Job, attack

SEED = 13
INPUTS = 15  # hostile inputs of each kind; `make torture` has 200 in each of its blocks


def test_the_campaign_has_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "BLOCK", INPUTS)
    shown, failed = table(Campaign(tmp_path, SEED, 0.01).results())
    assert not failed, f"seed {SEED}\n{shown}\n" + "\n".join(failed)


def test_the_campaign_sees_a_writer_that_is_not_safe(tmp_path: Path) -> None:
    target = tmp_path / "target"

    def write() -> None:
        for part in (b"a", b"b"):
            with target.open("ab"):
                descriptor = os.open(target, os.O_WRONLY | os.O_APPEND)
                os.write(descriptor, part)
                os.close(descriptor)

    def clear() -> None:
        target.write_bytes(b"")

    def check() -> str:
        return "" if target.read_bytes() in (b"", b"ab") else "half"

    job = Job("unsafe", clear, write, check)
    [killed, full] = attack(job, Workers(tmp_path / "log"), Random(1), most=10)
    assert killed.tried == 4 and len(killed.failed) == 2  # at both calls of the second part


@pytest.mark.parametrize("flushed", [True, False])
def test_the_campaign_sees_a_rename_before_the_content_is_flushed(
    flushed: bool, tmp_path: Path
) -> None:
    root = tmp_path / "root"

    def prepare() -> None:
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir()
        (root / "target").write_bytes(b"old")

    def write() -> None:
        descriptor = os.open(root / "part", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"new")
        if flushed:
            os.fsync(descriptor)
        os.close(descriptor)
        os.replace(root / "part", root / "target")

    def check() -> str:
        return "" if (root / "target").read_bytes() in (b"old", b"new") else "empty"

    job = Job("unsafe", prepare, write, check)
    result = power_failures(job, root, Workers(tmp_path / "log"), Random(1), most=10)
    assert result.tried >= 4 and bool(result.failed) is not flushed


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_training_survives_kills_full_disks_and_power_failures(tmp_path: Path) -> None:
    training = Training(tmp_path / "training", Workers(tmp_path / "log"))
    shown, failed = table(training.attack(Random(SEED), 2))
    assert not failed, f"seed {SEED}\n{shown}\n" + "\n".join(failed)


def test_the_campaign_sees_crashes_endless_work_and_wrong_errors(tmp_path: Path) -> None:
    attempt = Workers(tmp_path / "log").attempt
    assert attempt(lambda: None) == ""
    assert "RecursionError" in attempt(_deep)
    assert "SIGABRT" in attempt(os.abort)
    assert attempt(_large) == "exit status 1: MemoryError"


def _deep() -> None:
    _deep()


def _large() -> None:
    bytearray(5 << 30)
