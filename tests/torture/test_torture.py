"""The short form of the torture campaign; ``make torture`` chooses a new seed each time."""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import pytest

from tests.torture import campaign
from tests.torture.__main__ import table
from tests.torture.campaign import Campaign
from tests.torture.training import Training
from tests.torture.worker import Workers

SEED = 13
INPUTS = 15  # hostile inputs of each kind; `make torture` has 200 in each of its blocks


def test_the_campaign_has_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "BLOCK", INPUTS)
    shown, failed = table(Campaign(tmp_path, SEED, 0.01).results())
    assert not failed, f"seed {SEED}\n{shown}\n" + "\n".join(failed)


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
